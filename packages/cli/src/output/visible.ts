/**
 * What a terminal would act on instead of showing it: control characters (escape sequences begin with one), marks that
 * reorder text, line separators, and halves of surrogate pairs. Joiners stay: scripts and emoji are written with them.
 */
const unseen = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

const shortForms: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Text that others wrote, in one line, fit for a terminal: nothing in it is acted on, and nothing is hidden. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => shortForms[character] ?? escaped(character))
}

/** What goes into a cell of a table: the first line of a text, such as an error with its stack. */
export function firstLine(text: string): string {
  const [first = '', ...more] = text.split(/\r?\n/)
  return visible(first) + (more.some((line) => line.trim() !== '') ? ' …' : '')
}

/** The same for our own text of several lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n')
}

/** One line of JSON that is also safe to look at. The value that is read back is the same. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replace(unseen, escaped)}\n`
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
