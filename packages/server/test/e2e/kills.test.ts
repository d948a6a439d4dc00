import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const command = fileURLToPath(new URL('../../../../scripts/kills.mjs', import.meta.url))

/** The kills as a person runs them, short. Their figures go to the output. */
test('workers killed in the middle of runs: every run is closed once, and only what was in flight is delivered again', async () => {
  const child = spawn(process.execPath, [command, ...'--minutes 0.4 --jobs 20 --seed 3 --json'.split(' ')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  console.log(stderr)
  expect(code).toBe(0)
  const result = JSON.parse(stdout) as {
    runs: number
    kills: number
    extra_deliveries: number
    extra_deliveries_bound: number
    violations: Record<string, string[]>
  }
  expect(Object.values(result.violations).flat()).toEqual([])
  expect(result.runs).toBeGreaterThan(100)
  expect(result.kills).toBeGreaterThanOrEqual(2)
  // How many were in flight at a kill is chance; the kills are for nothing only if none was.
  expect(result.extra_deliveries_bound).toBeGreaterThan(0)
  expect(result.extra_deliveries).toBeLessThanOrEqual(result.extra_deliveries_bound)
}, 300_000)
