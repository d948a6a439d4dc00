import { readFile } from 'node:fs/promises'
import type { Identity, Outcome } from './run-program.js'
import { runProgram } from './run-program.js'

/** One way to run a Postgres program as its account. */
export interface Launcher {
  readonly name: 'as ourselves' | 'as its account' | 'through setpriv'
  run(program: string, args: readonly string[], timeoutMs?: number): Promise<Outcome>
}

/** The ways worth trying, the plainest first. */
export async function launchersFor(account: Identity | null): Promise<Launcher[]> {
  if (account === null) {
    return [
      {
        name: 'as ourselves',
        run: (program, args, timeoutMs) => runProgram(program, args, bound(timeoutMs)),
      },
    ]
  }
  const plain: Launcher = {
    name: 'as its account',
    run: (program, args, timeoutMs) => runProgram(program, args, { as: account, ...bound(timeoutMs) }),
  }
  const capability = await traversalCapability()
  return capability ? [plain, throughSetpriv(account, capability)] : [plain]
}

/**
 * Root's folders (/root, or one made by mktemp -d) are closed to every other account, so a plain change of user
 * could reach neither binaries nor data below them. setpriv changes the user and keeps the one capability that
 * looks past folder permissions. `no_setuid_fixup` belongs to it: without that bit the kernel ignores the
 * capability in access(2), which is how Postgres' programs look for each other.
 */
function throughSetpriv(account: Identity, capability: string): Launcher {
  const keep = `-all,+${capability}`
  const change = [
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    `--inh-caps=${keep}`,
    `--ambient-caps=${keep}`,
    `--bounding-set=${keep}`,
    '--securebits=+no_setuid_fixup',
  ]
  return {
    name: 'through setpriv',
    run: (program, args, timeoutMs) => runProgram('setpriv', [...change, program, ...args], bound(timeoutMs)),
  }
}

function bound(timeoutMs: number | undefined): { timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs }
}

/** The weakest capability we may pass on that suffices. Docker's default set has only the second. */
async function traversalCapability(): Promise<string | null> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const permitted = capabilitySet(status, 'CapPrm') & capabilitySet(status, 'CapBnd')
  const has = (bit: bigint): boolean => ((permitted >> bit) & 1n) === 1n
  const SETPCAP = 8n
  if (!has(SETPCAP)) return null
  if (has(2n)) return 'dac_read_search'
  return has(1n) ? 'dac_override' : null
}

function capabilitySet(status: string, name: string): bigint {
  const hex = new RegExp(`^${name}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1]
  return hex === undefined ? 0n : BigInt(`0x${hex}`)
}
