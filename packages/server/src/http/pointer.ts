/** JSON pointers (RFC 6901) as they are shown to people: what a caller sent is repeated, but never at length. */
const longestPointer = 300
const longestValue = 60

export function pointerOf(path: readonly (string | number)[]): string {
  return shortened(path.map((step) => `/${escapeStep(String(step))}`).join(''), longestPointer)
}

export function childPointer(parent: string, name: string): string {
  return shortened(`${parent}/${escapeStep(name)}`, longestPointer)
}

function escapeStep(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** A text in quotes; control characters and lone surrogates stand as escapes. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text, longestValue))
}

/** What stands at a place, in a few words. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return JSON.stringify(value)
}

function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`
}
