import { CarillonError } from '@carillon/contract'
import { readInstant } from '../../time/instant.js'
import { timelineOf } from '../../time/timeline.js'

/** The instant that a text means: with an offset the very one, without one as the clocks of the zone show it. */
export function momentOf(text: string, pointer: string, zone = 'UTC'): number {
  try {
    // The plus of an offset becomes a space in a query string that was not encoded.
    return readInstant(text.trim().replace(/ (\d{2}:?\d{2})$/, '+$1'), pointer, timelineOf(zone))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    const [problem] = error.errors
    throw new CarillonError('validation_failed', {
      detail: error.message,
      ...(problem?.hint === undefined ? {} : { hint: problem.hint }),
      errors: [...error.errors],
    })
  }
}
