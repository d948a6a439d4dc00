import { visible } from '../output/visible.js'
import { placeText, type Remark } from './declared.js'

/** Where there are more, the whole file is something else: --json has them all. */
const mostShown = 10

/** What was read cannot be carried out: every reason with its place and the repair. Nothing was written. */
export class DeclarationError extends Error {
  override readonly name = 'DeclarationError'
  readonly code = 'invalid_declaration'
  readonly errors: readonly { place: string; message: string; hint?: string }[]

  constructor(remarks: readonly Remark[], closing = 'Nothing was written.') {
    const errors = remarks.filter(({ kind }) => kind === 'error').sort(byPlace)
    const count = errors.length === 1 ? 'is 1 mistake' : `are ${errors.length} mistakes`
    const more = errors.length > mostShown ? [`  … and ${errors.length - mostShown} more`] : []
    const shown = errors.slice(0, mostShown).flatMap(linesOf)
    super([`There ${count}:`, ...shown, ...more, closing].join('\n'))
    this.errors = errors.map(({ at, text, hint }) => ({
      place: placeText(at),
      message: text,
      ...(hint !== undefined && { hint }),
    }))
  }
}

function linesOf({ at, text, hint }: Remark): string[] {
  const line = `  ${visible(placeText(at))}: ${visible(text)}`
  return hint === undefined ? [line] : [line, `      ${visible(hint)}`]
}

/** In the order in which they are met when reading; files as they were given. */
function byPlace({ at: a }: Remark, { at: b }: Remark): number {
  return a.file === b.file ? a.line - b.line || (a.column ?? 0) - (b.column ?? 0) : 0
}
