/**
 * A place in the stream of runs, as `id:` tells it and Last-Event-ID brings it back, to any process. Not an instant: a
 * transaction that commits late writes a row that lies before others that were told already. It is the set of
 * transactions that were seen, which Postgres calls a snapshot.
 */
export interface TailPlace {
  /** The instant of the look, by the database's clock. */
  at: number
  /** What this look has not shown and a later one may lies from here on. */
  since: number
  seen: string
  /** Amid a batch: the look that ended it, and how many of its events were told. */
  within: { upTo: string; told: number } | null
}

const longestSnapshot = 4_000
const longestBatch = 1_000_000

export function placeText({ at, since, seen, within }: TailPlace): string {
  const whole = `${at}_${since}_${seen}`
  return within === null ? whole : `${whole}_${within.upTo}_${within.told}`
}

/** Null for a text that names no place. */
export function placeFrom(text: string): TailPlace | null {
  const [at, since, seen, upTo, told, ...rest] = text.split('_')
  if (!isNumber(at) || !isNumber(since) || !isSnapshot(seen) || rest.length > 0) return null
  const place = { at: Number(at), since: Number(since), seen }
  if (upTo === undefined) return { ...place, within: null }
  if (!isSnapshot(upTo) || !isNumber(told) || Number(told) > longestBatch) return null
  return { ...place, within: { upTo, told: Number(told) } }
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && /^[0-9]{1,15}$/.test(text)
}

/** As Postgres writes and takes it: `xmin:xmax:` and those still under way at the time, ascending. */
function isSnapshot(text: string | undefined): text is string {
  if (text === undefined || text.length > longestSnapshot) return false
  if (!/^[1-9][0-9]{0,17}:[1-9][0-9]{0,17}:(?:[0-9]{1,18}(?:,[0-9]{1,18})*)?$/.test(text)) return false
  const { xmin, xmax, underWay } = snapshotOf(text)
  const ordered = underWay.every((xid, at) => xid >= (underWay[at - 1] ?? xmin) && xid < xmax)
  return xmin <= xmax && ordered
}

export function snapshotOf(text: string): { xmin: bigint; xmax: bigint; underWay: bigint[] } {
  const [xmin = '0', xmax = '0', list = ''] = text.split(':')
  const underWay = list === '' ? [] : list.split(',').map(BigInt)
  return { xmin: BigInt(xmin), xmax: BigInt(xmax), underWay }
}
