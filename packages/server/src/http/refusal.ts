import { CarillonError, type FieldProblem } from '@carillon/contract'

/** Detail names the first fault, so that a log line or a terminal that shows only it is already of use. */
export function refusal(
  problems: FieldProblem[],
  code: 'validation_failed' | 'unknown_field' = 'validation_failed',
) {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const detail =
    first === undefined ? {} : { detail: `${first.pointer || 'The body'} ${first.message}${more}` }
  return new CarillonError(code, { ...detail, errors: problems })
}
