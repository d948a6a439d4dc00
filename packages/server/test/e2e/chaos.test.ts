import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const command = fileURLToPath(new URL('../../../../chaos/run.mjs', import.meta.url))

interface ChaosResult {
  ticks: number
  kills: number
  db_restarts: number
  extra_deliveries: number
  extra_deliveries_bound: number
  drain_ms: number | null
  takeover_ms: { count: number }
  invariants: Record<string, number>
  violations: Record<string, number>
  faults: Record<string, number>
}

/** The harness as a person runs it, short. What it says goes to the output. */
async function chaos(...args: string[]): Promise<{ code: number | null; result: ChaosResult }> {
  const child = spawn(process.execPath, [command, ...args, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  console.log(stderr)
  if (stdout === '') throw new Error(`It ended with ${String(code)} and said nothing on stdout.`)
  return { code, result: JSON.parse(stdout) as ChaosResult }
}

test('a fleet whose processes are killed, whose database crashes and whose answers get lost accounts for every tick', async () => {
  const run = '--once --fleet small --rate 40 --mix 40 --seed 7 --calm 0'
  const faults = '--faults kill,database-immediate,swallow,reset'
  const { code, result } = await chaos(...run.split(' '), ...faults.split(' '))
  expect(result.violations).toEqual({})
  expect(Object.values(result.invariants)).toEqual(Array.from({ length: 10 }, () => 0))
  expect(code).toBe(0)
  expect(result.ticks).toBeGreaterThan(200)
  expect(result.faults).toEqual({ kill: 1, 'database-immediate': 1, swallow: 1, reset: 1 })
  expect(result.kills).toBeGreaterThanOrEqual(1)
  expect(result.db_restarts).toBe(1)
  expect(result.extra_deliveries).toBeLessThanOrEqual(result.extra_deliveries_bound)
  expect(result.drain_ms).not.toBeNull()
}, 300_000)
