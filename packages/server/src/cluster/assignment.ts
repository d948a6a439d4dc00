import { partitionCount } from '../platform/partition.js'

/**
 * Who should own what: rendezvous hashing with bounded load. Every node computes the same answer from the same list of
 * live nodes, so nobody has to hand it out. A node that comes or goes moves little more than 1/n of the partitions; none
 * gets more than its fair share plus one.
 *
 * The best pairs of a partition and a node come first. Filling the nodes partition by partition would give the last
 * partitions whatever is left, and a newcomer would shift more of them: 1.7 shares instead of 1.5 in a fleet of thirty.
 */
export function assignPartitions(live: readonly number[]): Map<number, number[]> {
  const nodes = [...new Set(live)]
  const owned = new Map<number, number[]>(nodes.map((node) => [node, []]))
  const most = Math.ceil(partitionCount / nodes.length) + 1
  const settled = new Set<number>()
  for (const { partition, node } of pairsByScore(nodes)) {
    const partitions = owned.get(node) as number[]
    if (settled.has(partition) || partitions.length >= most) continue
    partitions.push(partition)
    settled.add(partition)
    if (settled.size === partitionCount) break
  }
  for (const partitions of owned.values()) partitions.sort((a, b) => a - b)
  return owned
}

function pairsByScore(nodes: readonly number[]): { partition: number; node: number }[] {
  return Array.from({ length: partitionCount }, (_, partition) =>
    nodes.map((node) => ({ partition, node, score: score(partition, node) })),
  )
    .flat()
    .sort((a, b) => b.score - a.score || a.partition - b.partition || a.node - b.node)
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
