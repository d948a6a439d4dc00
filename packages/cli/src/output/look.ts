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
    // Lines that go to a file or another program are never cut.
    width: stream.isTTY ? stream.columns : Number.POSITIVE_INFINITY,
    now: new Date(),
    timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
}

function wantsColors(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR: noColor = '', TERM: terminal } = readEnvironment()
  return stream.isTTY && noColor === '' && terminal !== 'dumb'
}
