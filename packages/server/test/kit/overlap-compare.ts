import { expect } from 'vitest'
import { type ModelRun, noteText, type OverlapModel } from './overlap-model.js'
import type { House } from './use-house.js'

interface Compared {
  key: number
  model: OverlapModel
}

/** Queue, ledger (of what was recorded since) and cursor of every job are what its model says. */
export async function expectEqual(house: House, jobs: readonly Compared[], since: number): Promise<void> {
  const [rows, notes, timers] = await Promise.all([
    house.query<{ job: number } & Record<string, unknown>>(
      `SELECT job, due, origin, version, slot, places, attempt, available_at, holder, cancel_requested
       FROM carillon.queue ORDER BY due, origin`,
    ),
    house.query<{
      job: number
      due: number
      origin: number
      outcome: string
      reason: string
      final: boolean
    }>('SELECT job, due, origin, outcome, reason, final FROM carillon.ledger WHERE recorded_at >= $1', [
      since,
    ]),
    house.query<{ job: number; due: number }>('SELECT job, due FROM carillon.timers'),
  ])
  for (const { key, model } of jobs) {
    const real = {
      cursor: timers.find(({ job }) => job === key)?.due,
      runs: rows.flatMap(({ job, ...row }) => (job === key ? [row] : [])),
      notes: notes
        .filter(({ job }) => job === key)
        .map((note) => noteText({ ...note, origin: note.origin === 0 ? 'tick' : 'trigger' }))
        .sort(),
    }
    const wanted = { cursor: model.cursor, runs: rowsOf(model), notes: [...model.notes].sort() }
    expect(real, `job ${key}, ${model.rules.policy} ${model.rules.most ?? ''}`).toEqual(wanted)
  }
}

export function originOf({ origin }: ModelRun): number {
  return origin === 'tick' ? 0 : 1
}

/** The model's runs as rows of the queue. */
function rowsOf({ runs }: OverlapModel): Record<string, unknown>[] {
  return [...runs]
    .sort((a, b) => a.due - b.due || originOf(a) - originOf(b))
    .map((run) => ({
      due: run.due,
      origin: originOf(run),
      version: run.version,
      slot: run.place === 'waiting' ? -1 : run.place === 'none' ? null : run.place,
      places: run.places === Number.POSITIVE_INFINITY ? null : run.places,
      attempt: run.attempt,
      available_at: run.availableAt,
      holder: run.holder,
      cancel_requested: run.asked,
    }))
}
