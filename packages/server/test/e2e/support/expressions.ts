/** Names of metrics in an expression of PromQL, and what the rules themselves record. Labels and words of the language are none. */
export function metricsIn(expression: string): string[] {
  const bare = expression.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\{[^}]*\}/g, '')
  return [...new Set(bare.match(/\bcarillon[_:][A-Za-z0-9_:]+/g) ?? [])]
}

/** The names of all series that a text of /metrics has: also those that have no sample yet. */
export function exposedBy(text: string): Set<string> {
  const names = new Set<string>()
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    names.add(name)
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) names.add(`${name}_${part}`)
  }
  return names
}
