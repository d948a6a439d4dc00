import type { JobDefinition } from '@carillon/contract'
import { parseSchedule } from '../../src/time/schedule.js'
import type { LedgerRow } from './rows.js'
import { utcText } from '../../src/time/iso-text.js'

export interface Rule {
  schedule: JobDefinition['schedule']
  timezone: string
  anchor: number
}

/** Every tick that the rule names after `from`, up to and including `to`, one by one. */
export function ticksBetween(rule: Rule, from: number, to: number): number[] {
  const schedule = parseSchedule(rule)
  const ticks: number[] = []
  for (let tick = schedule.next(from); tick !== null && tick <= to; tick = schedule.next(tick))
    ticks.push(tick)
  return ticks
}

/**
 * Walks the final rows of a job from one `next_due` to the next, and checks each against the rule. Answers what is
 * wrong: nothing, if every tick from the first to the last is accounted for once and none was jumped.
 */
export function faultsInChain(rows: readonly LedgerRow[], rule: Rule, from: number): string[] {
  const schedule = parseSchedule(rule)
  const faults: string[] = []
  const final = rows.filter((row) => row.final).sort((a, b) => a.due - b.due)
  let expected = schedule.next(from)
  for (const row of final) {
    const name = `${row.outcome} ${utcText(row.due)}`
    if (row.due !== expected) faults.push(`${name} stands where ${expected ?? 'nothing'} was expected`)
    const last = row.due_to ?? row.due
    const counted = ticksBetween(rule, row.due - 1, last).length
    if (counted !== row.ticks) faults.push(`${name} says ${row.ticks} ticks, the rule has ${counted}`)
    expected = schedule.next(last)
    if (row.next_due !== expected) faults.push(`${name} leads to ${row.next_due}, the rule to ${expected}`)
  }
  return faults
}
