import type { JobInput } from '@carillon/sdk'

/** Where something is written: for people, as "file:line:column". */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column?: number
}

/** A job as a file says it should be. */
export interface Declared {
  readonly input: DeclaredInput
  /** Undefined: whatever it is. */
  readonly paused?: boolean
  readonly at: Place
  /** Where a field is written, by its JSON pointer. */
  readonly placeOf?: (pointer: string) => Place
}

export type DeclaredInput = JobInput

/** Something that a person should know about what was read. An error keeps anything from being written. */
export interface Remark {
  readonly at: Place
  readonly kind: 'note' | 'error'
  readonly text: string
  readonly hint?: string
}

export function placeText({ file, line, column }: Place): string {
  return column === undefined ? `${file}:${line}` : `${file}:${line}:${column}`
}
