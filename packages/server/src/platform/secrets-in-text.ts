/**
 * What must not stand in a log, wherever it came from: our keys and signing secrets, what an Authorization header holds, the user and password
 * of a URL (DATABASE_URL), and parameters of a query that are secrets by their names. Each is cut down to what it was; nothing that JSON needs
 * is taken away, so that a line stays a line.
 */
const secrets: readonly [pattern: RegExp, instead: string][] = [
  [/car_[A-Za-z0-9_-]{43}/g, 'car_…'],
  [/whsec_[A-Za-z0-9+/=]{8,}/g, 'whsec_…'],
  [/\b(Bearer) +[^\s"'\\,]{4,}/gi, '$1 …'],
  // Base64, and no word of a sentence.
  [/\b([Bb]asic) +(?=[a-z+/]*[A-Z0-9=])[A-Za-z0-9+/=]{8,}/g, '$1 …'],
  // Up to the last @ before the path: a password may have one in it. Of any scheme: looking for its beginning would cost the square of a
  // long text.
  [/:\/\/[^\s"'\\/]+@/g, '://…@'],
  [
    /([?&;](?:[a-z0-9_.-]*(?:token|secret|password|passwd|signature|apikey|api[_-]key|access[_-]key|credential)s?|key|sig|auth|code|pwd)=)[^\s"'\\&;#]+/gi,
    '$1…',
  ],
]

/** One look that tells whether any of them can be there: most lines have none. */
const suspicious = /car_|whsec_|:\/\/|bearer|basic|[?&;][a-z0-9_.-]+=/i

export function withoutSecrets(text: string): string {
  if (!suspicious.test(text)) return text
  let safe = text
  for (const [pattern, instead] of secrets) safe = safe.replace(pattern, instead)
  return safe
}
