import { CarillonError } from '@carillon/contract'
import { readMoment } from '../time/instant.js'

/** An instant that a person gave, in milliseconds. It needs its offset: no job's time zone is at hand. */
export function instantOf(text: string | null | undefined, pointer: string): number | null {
  if (text === undefined || text === null) return null
  let moment: ReturnType<typeof readMoment>
  try {
    moment = readMoment(text, pointer)
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
  if ('instant' in moment) return moment.instant
  const message = 'needs an offset: write it as "2026-12-01T09:00:00Z" or with "+01:00"'
  throw new CarillonError('validation_failed', {
    detail: `${JSON.stringify(text)} ${message}.`,
    errors: [{ pointer, message }],
  })
}
