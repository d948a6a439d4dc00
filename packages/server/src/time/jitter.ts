/**
 * How long a job waits after each of its ticks, from 0 to less than `seconds`, in whole milliseconds. It is the same
 * on every node and at every tick, and different jobs are spread evenly.
 */
export function jitterMs(jobId: string, seconds: number): number {
  // FNV-1a, with the last mixing step of MurmurHash3: ids that differ in one character end far apart.
  let hash = 0x811c9dc5
  for (let index = 0; index < jobId.length; index++) {
    hash = Math.imul(hash ^ jobId.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  const fraction = ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000
  return seconds > 0 ? Math.floor(fraction * seconds * 1000) : 0
}
