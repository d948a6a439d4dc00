import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type PythonQuestion = ({ rule: string } | { rrule: string; dtstart: string }) & {
  zone: string
  dst_gap: 'run_after' | 'skip'
  dst_overlap: 'first' | 'last' | 'both'
  from: number
  to: number
}
export type PythonAnswer = { unknown: string } | { ticks: number[]; offsets: number[] }

const script = fileURLToPath(new URL('./oracle.py', import.meta.url))

/** Why the second oracle cannot be asked on this machine, or null. */
export function pythonIsMissing(): string | null {
  const { error, status } = spawnSync(
    'python3',
    ['-c', 'import zoneinfo; zoneinfo.ZoneInfo("Europe/Madrid")'],
    {
      stdio: 'ignore',
    },
  )
  if (error) return 'python3 is not installed'
  return status === 0 ? null : 'python3 has no zoneinfo or no zone data (install tzdata)'
}

/** Recurrence rules are expanded by dateutil, which not every Python has. */
export function dateutilIsMissing(): boolean {
  return spawnSync('python3', ['-c', 'import dateutil.rrule'], { stdio: 'ignore' }).status !== 0
}

export function askPython(questions: PythonQuestion[]): PythonAnswer[] {
  const input = questions.map((question) => JSON.stringify(question)).join('\n')
  const { stdout, stderr, status } = spawnSync('python3', [script], {
    input,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  })
  if (status !== 0) throw new Error(`the oracle in Python ended with ${status}: ${stderr}`)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as PythonAnswer)
}

/** The instants whose offsets an answer lists. */
export function offsetInstants({ from, to }: PythonQuestion): number[] {
  const quarter = 900_000
  const first = Math.floor(from / quarter) - 108
  const last = Math.floor(to / quarter) + 108
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * quarter)
}
