import type { JobInput } from '@carillon/contract'

/** So many of a schedule and a target are compared one by one; of more each has a text that says what it is. */
const mostCompared = 4
/** Only what is short is compared with, by the length of its text: others are looked up, whatever they hold. */
const mostCharacters = 2_000

/**
 * What is known of jobs that have the same fields and values, but for name and payload. Found by schedule and target, in which most jobs of
 * a call differ, and by a look at the other fields: a text of all of them, made for each of ten thousand jobs, costs more than all else.
 */
export class Kinds<Known> {
  private readonly bySchedule = new Map<unknown, Map<unknown, Shelf<Known>>>()

  /** What is known of jobs like this one; made of it where it is the first. */
  of(input: JobInput, make: () => Known): Known {
    const shelf = this.shelfOf(input)
    for (const kept of shelf.compared) if (areAlike(kept.input, input)) return kept.known
    const mayCompare = shelf.compared.length < mostCompared
    const likeness = mayCompare && shelf.byText.size === 0 ? null : likenessOf(input)
    const known = likeness === null ? undefined : shelf.byText.get(likeness)
    if (known !== undefined) return known
    const made = make()
    const text = likeness ?? likenessOf(input)
    if (mayCompare && text.length <= mostCharacters) shelf.compared.push({ input, known: made })
    else shelf.byText.set(text, made)
    return made
  }

  clear(): void {
    this.bySchedule.clear()
  }

  private shelfOf(input: JobInput): Shelf<Known> {
    const [schedule, target] = [scheduleOf(input), targetOf(input)]
    const targets = this.bySchedule.get(schedule) ?? new Map<unknown, Shelf<Known>>()
    const shelf = targets.get(target)
    if (shelf !== undefined) return shelf
    const fresh: Shelf<Known> = { compared: [], byText: new Map() }
    this.bySchedule.set(schedule, targets.set(target, fresh))
    return fresh
  }
}

interface Shelf<Known> {
  readonly compared: { input: JobInput; known: Known }[]
  readonly byText: Map<string, Known>
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

function areAlike(kept: JobInput, input: JobInput): boolean {
  let fields = 0
  for (const field in kept) {
    if (isOwn(field)) continue
    if (!Object.hasOwn(input, field)) return false
    if (!isSame(kept[field as keyof JobInput], input[field as keyof JobInput])) return false
    fields += 1
  }
  for (const field in input) if (!isOwn(field)) fields -= 1
  return fields === 0
}

/** Of values that can stand in JSON. The first is short (see mostCharacters): it is gone through field by field. */
function isSame(kept: unknown, value: unknown): boolean {
  if (kept === value) return true
  if (typeof kept !== 'object' || typeof value !== 'object' || kept === null || value === null) return false
  if (Array.isArray(kept) || Array.isArray(value)) return areSameLists(kept, value)
  let fields = 0
  for (const field in kept) {
    if (!Object.hasOwn(value, field)) return false
    if (!isSame((kept as Fields)[field], (value as Fields)[field])) return false
    fields += 1
  }
  for (const _field in value) fields -= 1
  return fields === 0
}

function areSameLists(kept: object, value: object): boolean {
  if (!Array.isArray(kept) || !Array.isArray(value) || kept.length !== value.length) return false
  return kept.every((one, at) => isSame(one, value[at]))
}

type Fields = Record<string, unknown>

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
