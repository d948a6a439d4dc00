import { setTimeout as wait } from 'node:timers/promises'

const patienceMs = 15_000

/** Looks until it is so. For what another session or process does in its own time; never for the passing of time. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error(`It never came about: ${what}.`)
    await wait(3)
  }
}
