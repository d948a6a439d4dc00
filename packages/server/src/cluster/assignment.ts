import { partitionCount } from '../platform/partition.js'

/**
 * Who should own what: rendezvous hashing with bounded load. Every node computes the same answer from the same list of
 * live nodes, so nobody has to hand it out. A node that comes or goes moves about 1/n of the partitions; none gets
 * more than its fair share plus one.
 */
export function assignPartitions(live: readonly number[]): Map<number, number[]> {
  const nodes = [...new Set(live)]
  const owned = new Map<number, number[]>(nodes.map((node) => [node, []]))
  if (nodes.length === 0) return owned
  const most = Math.ceil(partitionCount / nodes.length) + 1
  for (let partition = 0; partition < partitionCount; partition++) {
    const preferred = nodes
      .map((node) => ({ node, score: score(partition, node) }))
      .sort((a, b) => b.score - a.score || a.node - b.node)
    for (const { node } of preferred) {
      const partitions = owned.get(node) as number[]
      if (partitions.length >= most) continue
      partitions.push(partition)
      break
    }
  }
  return owned
}

/** A well mixed 32-bit hash of (partition, node): the finaliser of MurmurHash3 over both halves of the node's id. */
function score(partition: number, node: number): number {
  const low = node >>> 0
  const high = Math.floor(node / 2 ** 32) >>> 0
  return mix(mix(mix(partition + 0x9e3779b9) ^ low) ^ high)
}

function mix(value: number): number {
  let hash = value >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
