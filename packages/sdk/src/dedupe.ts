/** Remembers which ids were worked on. One of your own (Redis, SQL) makes it hold for all processes of a service. */
export interface DedupeStore {
  /**
   * Takes the id, atomically. `taken`: it is ours now, and nobody else gets it until it is finished or released.
   * `busy`: somebody else has it. `done`: it was finished before. A store that outlives its process has to give up what
   * it took after a while (longer than the work takes): a process that died releases nothing.
   */
  take(id: string): Promise<'taken' | 'busy' | 'done'>
  /** The work was done: the id is never taken again. */
  finish(id: string): Promise<void>
  /** The work failed: the id may be taken again. */
  release(id: string): Promise<void>
}

export type Deduped<Result> =
  | { status: 'done'; result: Result }
  /** Done before: answer with success. */
  | { status: 'duplicate' }
  /** Under way elsewhere: answer with 503, so that Carillon comes back if that one fails. */
  | { status: 'busy' }

/** Does the work of an id once: `await once(envelope.run_id, () => …)`. Work that throws may be tried again. */
export function dedupe(
  store: DedupeStore,
): <Result>(id: string, work: () => Result | Promise<Result>) => Promise<Deduped<Result>> {
  return async (id, work) => {
    const answer = await store.take(id)
    if (answer === 'done') return { status: 'duplicate' }
    if (answer === 'busy') return { status: 'busy' }
    let result: Awaited<ReturnType<typeof work>>
    try {
      result = await work()
    } catch (error) {
      await store.release(id)
      throw error
    }
    // Not released if this fails: the work was done.
    await store.finish(id)
    return { status: 'done', result }
  }
}

export interface MemoryStoreOptions {
  /** How many finished ids are remembered; the oldest are forgotten first. Default 10,000. */
  most?: number
  /** How long a finished id is remembered. Default 24 hours: longer than retries usually go on. */
  keepMs?: number
  /** Monotonic milliseconds; tests put their own in place. */
  now?: () => number
}

/** For a service of one process: what it remembers is gone when the process is. */
export function memoryStore(options: MemoryStoreOptions = {}): DedupeStore {
  const { most = 10_000, keepMs = 86_400_000, now = () => performance.now() } = options
  const busy = new Set<string>()
  /** In the order in which they were finished. */
  const done = new Map<string, number>()
  const forget = () => {
    for (const [id, finishedAt] of done) {
      if (done.size <= most && now() - finishedAt < keepMs) return
      done.delete(id)
    }
  }
  return {
    take(id) {
      forget()
      if (done.has(id)) return Promise.resolve('done')
      if (busy.has(id)) return Promise.resolve('busy')
      busy.add(id)
      return Promise.resolve('taken')
    },
    finish(id) {
      busy.delete(id)
      done.set(id, now())
      forget()
      return Promise.resolve()
    },
    release(id) {
      busy.delete(id)
      return Promise.resolve()
    },
  }
}
