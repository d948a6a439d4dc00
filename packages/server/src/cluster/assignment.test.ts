import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignPartitions } from './assignment.js'

const nodeLists = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 53 - 1 }), { minLength: 1, maxLength: 40 })

function ownersOf(nodes: readonly number[]): Map<number, number> {
  const owners = new Map<number, number>()
  for (const [node, partitions] of assignPartitions(nodes)) {
    for (const partition of partitions) owners.set(partition, node)
  }
  return owners
}

function moved(before: readonly number[], after: readonly number[]): number {
  const [old, fresh] = [ownersOf(before), ownersOf(after)]
  return [...old].filter(([partition, owner]) => fresh.get(partition) !== owner).length
}

describe('the assignment of partitions', () => {
  it('gives every partition to exactly one node, and to each its fair share and one at most', () => {
    fc.assert(
      fc.property(nodeLists, (nodes) => {
        const assigned = assignPartitions(nodes)
        expect([...assigned.keys()].sort()).toEqual([...nodes].sort())
        const all = [...assigned.values()].flat().sort((a, b) => a - b)
        expect(all).toEqual(Array.from({ length: 256 }, (_, partition) => partition))
        const most = Math.max(...[...assigned.values()].map((partitions) => partitions.length))
        expect(most).toBeLessThanOrEqual(Math.ceil(256 / nodes.length) + 1)
      }),
    )
  })

  it('is the same on every node, in whatever order it knows the others', () => {
    fc.assert(
      fc.property(
        nodeLists.chain((nodes) =>
          fc.tuple(
            fc.constant(nodes),
            fc.shuffledSubarray(nodes, { minLength: nodes.length, maxLength: nodes.length }),
          ),
        ),
        ([nodes, shuffled]) => {
          expect([...ownersOf(shuffled)].sort()).toEqual([...ownersOf(nodes)].sort())
        },
      ),
    )
  })

  it('counts a node once that is named twice', () => {
    expect([...ownersOf([7, 9, 7])].sort()).toEqual([...ownersOf([7, 9])].sort())
    expect(ownersOf([7, 7]).size).toBe(256)
  })

  it('is pinned: nodes of two versions in one fleet must agree', () => {
    const owned = assignPartitions([1, 2, 3_000_000_000_000_000])
    expect([...owned.values()].map((partitions) => partitions.slice(0, 6))).toEqual([
      [0, 1, 4, 5, 8, 9],
      [2, 3, 14, 18, 21, 23],
      [6, 7, 10, 11, 15, 20],
    ])
  })

  it('gives nothing to nobody, and everything to the only node', () => {
    expect(assignPartitions([]).size).toBe(0)
    expect(assignPartitions([7]).get(7)).toHaveLength(256)
  })

  it('leaves no partition alone when there are more nodes than partitions', () => {
    expect(ownersOf(someNodes(300, 'crowd')).size).toBe(256)
  })
})

describe('a node that comes or goes', () => {
  /** Of many memberships: how many partitions move when one more node joins, or the same one leaves. */
  function moves(others: number): number[] {
    return Array.from({ length: 24 }, (_, round) => {
      const nodes = someNodes(others + 1, `round ${round}`)
      return moved(nodes.slice(1), nodes)
    })
  }

  it.each([1, 2, 3, 4, 5])('moves hardly more than its share, beside %i others', (others) => {
    const share = 256 / (others + 1)
    const counts = moves(others)
    expect(mean(counts)).toBeGreaterThan(share * 0.9)
    expect(mean(counts)).toBeLessThan(share * 1.15)
    expect(Math.max(...counts)).toBeLessThan(share * 1.15 + 15)
  })

  it.each([8, 10, 16, 20, 32])('moves little more than its share, beside %i others', (others) => {
    const share = 256 / (others + 1)
    const counts = moves(others)
    expect(mean(counts)).toBeGreaterThan(share * 0.9)
    expect(mean(counts)).toBeLessThan(share * 1.5)
    expect(Math.max(...counts)).toBeLessThan(share * 1.5 + 12)
  })

  it('keeps to the bound through any sequence of joins and departures', () => {
    const changes = fc.array(fc.tuple(fc.boolean(), fc.nat()), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(nodeLists, changes, (first, sequence) => {
        let nodes = first
        for (const [joins, seed] of sequence) {
          const next = joins
            ? [...new Set([...nodes, ...someNodes(1, String(seed))])]
            : nodes.length > 1
              ? nodes.filter((_, at) => at !== seed % nodes.length)
              : nodes
          const sizes = [...assignPartitions(next).values()].map((partitions) => partitions.length)
          expect(Math.max(...sizes)).toBeLessThanOrEqual(Math.ceil(256 / next.length) + 1)
          expect(moved(nodes, next)).toBeLessThanOrEqual(2 * (256 / Math.min(nodes.length, next.length)) + 20)
          nodes = next
        }
      }),
      { numRuns: 15 },
    )
  })
})

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

/** Ids as random as those of processes, but the same in every run. */
function someNodes(count: number, seed: string): number[] {
  return Array.from({ length: count }, (_, at) => {
    const hash = createHash('sha256').update(`${seed}/${at}`).digest()
    return Number(hash.readBigUInt64BE() >> 11n)
  })
}
