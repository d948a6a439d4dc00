/** Instants, the earliest first: a heap, since they come in any order. */
export class Instants {
  private readonly heap: number[] = []

  /** Infinity where there is none. */
  get first(): number {
    return this.heap[0] ?? Number.POSITIVE_INFINITY
  }

  push(instant: number): void {
    const { heap } = this
    let hole = heap.push(instant) - 1
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      const above = heap[parent] as number
      if (above <= instant) break
      heap[hole] = above
      hole = parent
    }
    heap[hole] = instant
  }

  /** Takes out the first. */
  shift(): void {
    const { heap } = this
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let hole = 0
    for (;;) {
      let child = 2 * hole + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child += 1
      if ((heap[child] as number) >= last) break
      heap[hole] = heap[child] as number
      hole = child
    }
    heap[hole] = last
  }
}
