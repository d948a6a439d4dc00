import type { JobInput } from '@carillon/contract'

/** So many of a schedule and a target are compared one by one; of more each has a text that says what it is. */
const mostOnShelf = 4

/**
 * What is known of jobs that have the same fields and values, but for name and payload. Found by schedule and target, in which most jobs of
 * a call differ, and by a look at the other fields: a text of all of them, made for each of ten thousand jobs, costs more than all else.
 */
export class Kinds<Known> {
  private readonly bySchedule = new Map<unknown, Map<unknown, Shelf<Known>>>()

  find(input: JobInput): Known | undefined {
    const shelf = this.bySchedule.get(scheduleOf(input))?.get(targetOf(input))
    if (shelf === undefined) return undefined
    for (const kept of shelf.first) if (areAlike(kept.input, input)) return kept.known
    return shelf.further?.get(likenessOf(input))
  }

  keep(input: JobInput, known: Known): void {
    const shelf = this.shelfOf(input)
    if (shelf.first.length < mostOnShelf) shelf.first.push({ input, known })
    else (shelf.further ??= new Map()).set(likenessOf(input), known)
  }

  private shelfOf(input: JobInput): Shelf<Known> {
    const [schedule, target] = [scheduleOf(input), targetOf(input)]
    const targets = this.bySchedule.get(schedule) ?? new Map<unknown, Shelf<Known>>()
    this.bySchedule.set(schedule, targets)
    const shelf = targets.get(target) ?? { first: [], further: null }
    targets.set(target, shelf)
    return shelf
  }

  clear(): void {
    this.bySchedule.clear()
  }
}

interface Shelf<Known> {
  readonly first: { input: JobInput; known: Known }[]
  further: Map<string, Known> | null
}

/** Schedules that are no text share a place. */
function scheduleOf({ schedule }: JobInput): string | null {
  return typeof schedule === 'string' ? schedule : null
}

function targetOf({ target }: JobInput): string | null {
  if (target?.type === 'http') return target.url
  return target?.type === 'task' ? target.task : null
}

function isOwn(field: string): boolean {
  return field === 'name' || field === 'payload'
}

function areAlike(one: JobInput, other: JobInput): boolean {
  let fields = 0
  for (const field in one) {
    if (isOwn(field)) continue
    if (!isSame(one[field as keyof JobInput], other[field as keyof JobInput])) return false
    fields += 1
  }
  for (const field in other) if (!isOwn(field)) fields -= 1
  return fields === 0
}

/** Of values that can stand in JSON. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  let fields = 0
  for (const field in one) {
    if (!Object.hasOwn(other, field)) return false
    if (!isSame((one as Record<string, unknown>)[field], (other as Record<string, unknown>)[field]))
      return false
    fields += 1
  }
  for (const _field in other) fields -= 1
  return fields === 0
}

/**
 * The same text for jobs that have the same fields and values, in the same order, but for name and payload. Values carry their
 * lengths: where one ends is not up to what stands in it.
 */
function likenessOf(input: JobInput): string {
  let likeness = ''
  for (const field in input) {
    if (isOwn(field)) continue
    const value: unknown = input[field as keyof JobInput]
    if (typeof value === 'string') likeness += `${field}"${value.length}:${value}`
    else {
      const text = JSON.stringify(value) ?? ''
      likeness += `${field}=${text.length}:${text}`
    }
  }
  return likeness
}
