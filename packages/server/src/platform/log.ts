import { type Logger, pino } from 'pino'
import { withoutSecrets } from './secrets-in-text.js'

export interface LogOptions {
  level: string
  format: 'json' | 'pretty'
}

/**
 * Logs go to stderr: stdout belongs to results. `pretty` is one short line per event for a terminal; `json` is for
 * machines.
 */
export function createLog(options: LogOptions, write: (line: string) => void = toStderr): Logger {
  const pretty = options.format === 'pretty'
  // The finished line, whatever it was made of: no field has to be known as one that might hold a secret.
  const stream = {
    write(line: string) {
      const safe = withoutSecrets(line)
      write(pretty ? prettyLine(safe) : safe.replace(leftByJson, escaped))
    },
  }
  return pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}

function toStderr(line: string): void {
  process.stderr.write(line)
}

const levels: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** The fields may be a task's own, and one of them may be named as ours are: no line is worth a failed run. */
function prettyLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
  const rest = Object.entries(fields).map(([key, value]) => `${printable(key)}=${plain(value)}`)
  if (err !== undefined) rest.push(`error=${plain(messageOf(err))}`)
  const details = rest.length > 0 ? `  ${rest.join(' ')}` : ''
  const name = levels[Number(level)] ?? 'log'
  return `${plain(time).slice(11, 23)} ${name.padEnd(5)} ${plain(msg ?? '')}${details}\n`
}

function messageOf(err: unknown): unknown {
  return (err as { message?: unknown } | null)?.message ?? err
}

function plain(value: unknown): string {
  return printable(typeof value === 'string' ? value : JSON.stringify(value))
}

/** A job's name or an error's text may hold newlines or escape codes: they stay visible and harmless. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, escaped)
}

/** JSON lets these stand, and a terminal that shows the line acts on them. */
const leftByJson = /[\u007f-\u009f\u2028\u2029]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
