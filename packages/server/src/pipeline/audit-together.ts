/** A row of the audit stands for so many jobs at most: their entries lie between its number and the next row's. */
const mostTogether = 1_000
/** Between the ids of the first and the last job of a row. A job's row is looked for no further. */
const mostApartMs = 60_000

/**
 * Whether jobs that one call registers may be noted in one row of the audit, in which each is found by its id: the ids, in their
 * order, ascend and were made at about one time.
 */
export function notedTogether(uuids: readonly string[]): boolean {
  const [first] = uuids
  const last = uuids.at(-1)
  if (first === undefined || last === undefined || uuids.length < 2 || uuids.length > mostTogether)
    return false
  if (madeAt(last) - madeAt(first) > mostApartMs) return false
  return uuids.every((uuid, at) => at === 0 || (uuids[at - 1] as string) < uuid)
}

/** No row in which a job is noted together with others ends with a later id than this. */
export function latestTogether(uuid: string): string {
  const time = (madeAt(uuid) + mostApartMs).toString(16).padStart(12, '0').slice(-12)
  return `${time.slice(0, 8)}-${time.slice(8)}-ffff-ffff-ffffffffffff`
}

/** A UUIDv7 begins with the milliseconds of its making. */
function madeAt(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}
