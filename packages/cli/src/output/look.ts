import { readEnvironment } from '@carillon/server/config'
import pc from 'picocolors'

export type Colors = ReturnType<typeof pc.createColors>

/** How things are shown to the person at this terminal. Handed to the views, so that they stay pure. */
export interface Look {
  readonly colors: Colors
  /** Columns that a line may take. */
  readonly width: number
  readonly now: Date
  readonly timeZone: string
}

export function lookOf(stream: NodeJS.WriteStream): Look {
  return {
    colors: pc.createColors(wantsColors(stream)),
    width: widthOf(stream),
    now: new Date(),
    timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
}

const usualWidth = 80

/** Lines that go to a file or another program are never cut. Some terminals do not tell their width. */
function widthOf(stream: NodeJS.WriteStream): number {
  if (!stream.isTTY) return Number.POSITIVE_INFINITY
  return stream.columns > 0 ? stream.columns : usualWidth
}

function wantsColors(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR: noColor = '', FORCE_COLOR: force = '', TERM: terminal } = readEnvironment()
  // Both are conventions; a wish for none is the stronger one.
  if (noColor === '' && force !== '' && force !== '0' && force !== 'false') return true
  return stream.isTTY === true && noColor === '' && terminal !== 'dumb'
}
