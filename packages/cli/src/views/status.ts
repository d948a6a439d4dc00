import type { Colors } from '../output/look.js'

type Paint = 'green' | 'red' | 'yellow' | 'cyan' | 'dim'

/** A symbol and a colour for every word: neither colour nor symbol alone carries the meaning. */
const looks: Record<string, readonly [symbol: string, paint: Paint]> = {
  // Jobs
  active: ['●', 'green'],
  paused: ['‖', 'yellow'],
  ended: ['○', 'dim'],
  // Runs
  pending: ['○', 'cyan'],
  running: ['▸', 'cyan'],
  success: ['✓', 'green'],
  failed: ['✗', 'red'],
  dead: ['✗', 'red'],
  stale: ['≠', 'yellow'],
  skipped: ['»', 'yellow'],
  cancelled: ['–', 'dim'],
  // Work in the background
  done: ['✓', 'green'],
  // Checks
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  fail: ['✗', 'red'],
  skip: ['–', 'dim'],
}

/** A word that a newer server may know and this command does not. */
const unknown = ['?', 'dim'] as const

export function statusText(status: string): string {
  return `${lookFor(status)[0]} ${status}`
}

export function paintStatus(text: string, status: string, colors: Colors): string {
  return colors[lookFor(status)[1]](text)
}

function lookFor(status: string): readonly [symbol: string, paint: Paint] {
  return looks[status] ?? unknown
}
