// Instants and durations, in words for people.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const instantFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const relativeFormat = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]

export function viewerZone() {
  return zone
}

export function instant(iso) {
  return instantFormat.format(new Date(iso))
}

export function utc(iso) {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`
}

export function relative(iso) {
  const distance = new Date(iso).getTime() - Date.now()
  const [unit, size] = units.find(([, length]) => Math.abs(distance) >= length) ?? ['second', 1_000]
  return relativeFormat.format(Math.trunc(distance / size), unit)
}

export function duration(ms) {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`
}
