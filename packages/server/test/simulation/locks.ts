/** The row locks of Postgres, weakest first. */
export type LockMode = 'key share' | 'share' | 'no key update' | 'update'

const strengths: Record<LockMode, number> = { 'key share': 0, share: 1, 'no key update': 2, update: 3 }

/** Which two cannot be held at once: the table of the Postgres manual. */
const conflicts: readonly (readonly boolean[])[] = [
  [false, false, false, true],
  [false, false, true, true],
  [false, true, true, true],
  [true, true, true, true],
]

export function conflict(one: LockMode, other: LockMode): boolean {
  return conflicts[strengths[one]]?.[strengths[other]] ?? true
}

/** Whoever takes locks, and for whom it waits. */
export interface Locker {
  readonly id: number
  waitsFor: readonly Locker[]
}

interface Held {
  by: Locker
  mode: LockMode
}

/** Who holds which lock. They are given back all at once, at the end of a transaction. */
export class Locks {
  private readonly held = new Map<string, Held[]>()

  get size(): number {
    return this.held.size
  }

  /** Takes it, or answers who stands in the way. */
  take(by: Locker, name: string, mode: LockMode): readonly Locker[] {
    const holders = this.held.get(name)
    if (holders === undefined) {
      this.held.set(name, [{ by, mode }])
      return nobody
    }
    const inTheWay = holders.filter((held) => held.by !== by && conflict(held.mode, mode))
    if (inTheWay.length > 0) return inTheWay.map((held) => held.by)
    const mine = holders.find((held) => held.by === by)
    if (mine === undefined) holders.push({ by, mode })
    else if (strengths[mode] > strengths[mine.mode]) mine.mode = mode
    return nobody
  }

  /** Who else holds it, in whatever mode. */
  others(than: Locker, name: string): readonly Locker[] {
    const holders = this.held.get(name)
    return holders === undefined ? nobody : holders.flatMap(({ by }) => (by === than ? [] : [by]))
  }

  giveBack(by: Locker): void {
    for (const [name, holders] of this.held) {
      const left = holders.filter((held) => held.by !== by)
      if (left.length === holders.length) continue
      if (left.length === 0) this.held.delete(name)
      else this.held.set(name, left)
    }
  }
}

const nobody: readonly Locker[] = []

/** Whether somebody who is waited for waits, directly or by others, for the one that asks. */
export function deadlocked(locker: Locker): boolean {
  const seen = new Set<Locker>()
  const open = [...locker.waitsFor]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === locker) return true
    if (seen.has(next)) continue
    seen.add(next)
    open.push(...next.waitsFor)
  }
  return false
}
