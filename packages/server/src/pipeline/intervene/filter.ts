import { CarillonError, type DeadLetterFilter } from '@carillon/contract'

/** Which dead letters are meant, as the statements take it. */
export interface LetterFilter {
  job: number | null
  fingerprint: string | null
  after: number
  before: number
}

const everAfter = Date.UTC(9999, 11, 31)
const offset = /(?:Z|[+-]\d{2}:\d{2})$/i

/** `job`: the key of the filter's job, where it names one. */
export function filterOf(filter: DeadLetterFilter, job: number | null, where: string): LetterFilter {
  const after = filter.after === undefined ? 0 : momentOf(filter.after, `${where}after`)
  const before = filter.before === undefined ? everAfter : momentOf(filter.before, `${where}before`)
  if (after >= before) {
    throw new CarillonError('validation_failed', {
      detail: `\`before\` (${filter.before}) is not later than \`after\` (${filter.after}): no dead letter lies between them.`,
      errors: [{ pointer: `${where}before`, message: 'must be later than after' }],
    })
  }
  return { job, fingerprint: filter.fingerprint ?? null, after, before }
}

function momentOf(text: string, pointer: string): number {
  const ms = offset.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isInteger(ms) && ms >= 0 && ms <= everAfter) return ms
  throw new CarillonError('validation_failed', {
    detail: `${JSON.stringify(text)} is no instant.`,
    errors: [{ pointer, message: 'must be an instant with an offset, such as 2026-12-01T09:00:00Z' }],
  })
}
