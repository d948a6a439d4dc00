const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds, or a text: "500ms", "90s", "1h 30m", "2d". */
export type Duration = number | string

export function millisecondsOf(duration: Duration): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return duration
  const parts = String(duration).trim().split(/\s+/)
  const all = parts.map((part) => /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(part))
  if (all.some((part) => part === null)) {
    throw new TypeError(
      `"${duration}" is no duration. Give milliseconds, or a text like "500ms", "90s", "1h 30m" or "2d".`,
    )
  }
  return all.reduce((sum, part) => sum + Number(part?.[1]) * units[part?.[2] as keyof typeof units], 0)
}
