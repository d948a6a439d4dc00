const steps = [
  [86_400 * 365.25, 'year', 2],
  [86_400, 'day', 2],
  [3_600, 'hour', 2],
  [60, 'minute', 2],
] as const

/** How long ago, for a person: "6 years", "3 days", "90 seconds". The larger unit only where there are two of it. */
export function ageText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const [size, unit] = steps.find(([length, , least]) => seconds >= length * least) ?? [1, 'second']
  const count = Math.floor(seconds / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
