/**
 * Finds what belongs to a job. Asked in the order of the list, as answers to it mostly are, it compares and nothing else: an index
 * over thousands of ticks, made for each of their statements in several places, was a good part of what a tick cost.
 */
export function byJob<Item>(
  items: readonly Item[],
  jobOf: (item: Item) => number,
): (job: number) => Item | undefined {
  let at = 0
  let index: Map<number, Item> | null = null
  return (job) => {
    const next = items[at]
    if (next !== undefined && jobOf(next) === job) {
      at += 1
      return next
    }
    index ??= new Map(items.map((item) => [jobOf(item), item]))
    return index.get(job)
  }
}
