import { ApiError } from '@carillon/sdk/browser'

/** What is wrong, by the field that is at fault. */
export type Problems = Partial<Record<string, string>>

/** The server names what it refuses by a pointer: here by its first step. The first word on a field is the one that is shown. */
export function problemsOf(error: Error | null): Problems {
  const problems: Problems = {}
  if (!(error instanceof ApiError)) return problems
  for (const { pointer, message, hint } of error.errors)
    problems[pointer.split('/')[1] ?? ''] ??= [message, hint].filter(Boolean).join(' ')
  return problems
}
