/** How many slices the jobs have. Fixed for the life of a database: nodes come and go, rows never move. */
export const partitionCount = 256

/** The partition of a job: FNV-1a over its id, folded to a byte. Stable for ever, on every node and version. */
export function partitionOf(uuid: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < uuid.length; at++) {
    hash ^= uuid.charCodeAt(at)
    hash = Math.imul(hash, 0x01000193) >>> 0
  }
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & 0xff
}
