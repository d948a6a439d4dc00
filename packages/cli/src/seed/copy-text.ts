/** One row in the text format of COPY: tabs between, \N for null, backslashes before what has a meaning. */
export function copyLine(values: readonly unknown[]): string {
  return `${values.map(copyValue).join('\t')}\n`
}

function copyValue(value: unknown): string {
  if (value === null || value === undefined) return '\\N'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /[\\\t\n\r]/.test(text)
    ? text.replace(/[\\\t\n\r]/g, (special) => escapes[special] ?? special)
    : text
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
