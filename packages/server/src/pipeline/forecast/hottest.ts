/** The seconds with the most ticks, the hottest first; of equal ones the earlier. Seconds without a tick are none. */
export function hottestSeconds(seconds: Float64Array, most: number): { second: number; firings: number }[] {
  const top: { second: number; firings: number }[] = []
  for (let second = 0; second < seconds.length; second++) {
    const firings = seconds[second] ?? 0
    if (firings === 0 || (top.length === most && firings <= (top.at(-1)?.firings ?? 0))) continue
    top.push({ second, firings })
    top.sort((a, b) => b.firings - a.firings || a.second - b.second)
    if (top.length > most) top.pop()
  }
  return top
}
