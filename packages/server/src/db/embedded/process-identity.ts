import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { codeOf } from './failure.js'

/** Whether a pid is taken. A zombie counts: the kernel answers for it until its parent has reaped it. */
export function pidIsTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it exists and belongs to someone else.
    return codeOf(error) === 'EPERM'
  }
}

/**
 * When the process began, in ticks since boot: with it a reused pid is told from the process it once named.
 * Null: no such process, or only its zombie is left. Undefined: this system has no /proc to ask.
 */
export async function startTicksOf(pid: number): Promise<string | null | undefined> {
  if (process.platform !== 'linux') return undefined
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (stat === null) return pidIsTaken(pid) ? undefined : null
  // The command name may hold spaces and brackets; the fields begin after its last bracket, with the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? null : fields[19]
}

/** Names the space in which pids can be compared: this boot of this machine, and on Linux this pid namespace. */
export async function pidSpace(): Promise<string> {
  if (process.platform !== 'linux') return hostname()
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => hostname())
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '')
  return `${boot.trim()} ${namespace}`.trim()
}
