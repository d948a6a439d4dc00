/** The viewer's clock may be wrong. What the server says of its own time corrects it; smaller errors are travel time. */
let offsetMs = 0
const tolerated = 2_000

export function now(): number {
  return Date.now() + offsetMs
}

export function learnServerTime(iso: string): void {
  const off = Date.parse(iso) - Date.now()
  if (Number.isFinite(off)) offsetMs = Math.abs(off) > tolerated ? off : 0
}
