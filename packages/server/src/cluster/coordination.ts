/**
 * Who is alive, and who owns what: all that the cluster asks of a store. What to do with the answers (who should own
 * what, how long a lease is trusted, when to stand aside) is decided in Membership and Ownership, whatever the store.
 *
 * Electing and fencing are two things. A store may elect as it likes; the epoch of a lease always stands in
 * carillon.partitions, where every fire checks it. An implementation has granted a lease only when the epoch there is
 * raised and the owner written: until then the fires of the new owner are refused, and from then on those of the old.
 *
 * Every implementation passes test/conformance/coordination.ts.
 */
export interface Coordination {
  /** Begins a new life under an id that was never used before. It holds nothing yet. */
  join(introduction: Introduction): Promise<Life>

  /**
   * Takes those of the wanted partitions that are free: never owned, given back, expired, held by an incarnation that
   * is gone, or by this very one, which then gets them under a new epoch. Raises the epoch of each above all that were
   * ever given out, also by a primary that is lost. An incarnation that is gone takes nothing.
   */
  take(incarnation: number, wanted: readonly number[], ttlMs: number): Promise<Lease[]>

  /** Extends leases that have not ended. Answers those that go on; what is missing in the answer is lost. */
  renew(incarnation: number, held: readonly Lease[], ttlMs: number): Promise<Lease[]>

  /** Gives leases back, so that the next owner need not wait. One that has a newer epoch by now stays as it is. */
  release(incarnation: number, held: readonly Lease[]): Promise<void>
}

/** The right to fire for a partition, under the number of this ownership. */
export interface Lease {
  partition: number
  epoch: number
}

/** One life of this process in the cluster. */
export interface Life {
  readonly incarnation: number

  /** A life sign. False: this incarnation was declared dead, and nothing that is done in its name counts any more. */
  beat(sign: LifeSign): Promise<boolean>

  /** A look around. Finds the dead; answers all that are gone since the last look, whoever noticed. */
  look(): Promise<readonly number[]>

  /** So long after the last look another may find what that one could not yet, sooner than a heartbeat later; null: it will not. */
  nextLookInMs(): number | null

  /** Those who can be counted on now, by the last look and the time since; includes this process. */
  live(): readonly LivePeer[]

  /** A good-bye: nobody has to wait for this incarnation to be found dead. */
  leave(): Promise<void>

  /** Drops whatever is kept open for this life, without a word to the others: what a crash does. */
  drop(): Promise<void>
}

export interface LivePeer {
  incarnation: number
  roles: readonly string[]
}

/** What a process says of itself once. */
export interface Introduction {
  host: string
  pid: number
  roles: readonly string[]
  tasks: readonly string[]
  /** Whether its worker runs commands. */
  commands?: boolean
  codeVersion: string
}

/** What it says with every life sign: the roles it can do now, and a word for people who look. */
export interface LifeSign {
  roles: readonly string[]
  report: Readonly<Record<string, unknown>>
}
