import { createHash } from 'node:crypto'
import { CarillonError, type JobFilter } from '@carillon/contract'
import { partitionCount } from '../../../platform/partition.js'

/** Where a page ended: a section of the order, and the key of the last job in it. */
export interface Position {
  section: 'timed' | 'newest' | 'name'
  key: readonly (number | string)[]
}

const sections = ['timed', 'newest', 'name'] as const
/** Of each part of a key the most that its column holds, or that it is a text. */
const shapes = {
  timed: [Number.MAX_SAFE_INTEGER, partitionCount - 1, Number.MAX_SAFE_INTEGER],
  newest: [Number.MAX_SAFE_INTEGER],
  name: ['text', Number.MAX_SAFE_INTEGER],
} as const

/** A cursor holds for the list that it was given for: with another filter or order it would skip jobs or show them twice. */
export function fingerprintOf(tenant: number, filter: JobFilter): string {
  const { search, tags, state, target, managed_by: managedBy, order = 'newest' } = filter
  const text = JSON.stringify([
    tenant,
    search ?? null,
    [...(tags ?? [])].sort(),
    state ?? null,
    target ?? null,
    managedBy ?? null,
    order,
  ])
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}

export function encodePosition(fingerprint: string, { section, key }: Position): string {
  return Buffer.from(JSON.stringify([fingerprint, sections.indexOf(section), ...key])).toString('base64url')
}

export function decodePosition(cursor: string, fingerprint: string): Position {
  const [list, at, ...key] = parsed(cursor)
  const section = typeof at === 'number' ? sections[at] : undefined
  if (list !== fingerprint) {
    throw invalid(
      typeof list === 'string' && section !== undefined
        ? 'was given for another filter or order'
        : 'is no cursor of this list',
    )
  }
  if (section === undefined || !fits(key, shapes[section])) throw invalid('is no cursor of this list')
  return { section, key: key as (number | string)[] }
}

function parsed(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

function fits(key: unknown[], shape: readonly (number | 'text')[]): boolean {
  return (
    key.length === shape.length &&
    key.every((part, at) => {
      const most = shape[at]
      return typeof most === 'number'
        ? Number.isSafeInteger(part) && (part as number) >= 0 && (part as number) <= most
        : typeof part === 'string' && !part.includes('\0')
    })
  )
}

function invalid(message: string): CarillonError {
  return new CarillonError('invalid_cursor', { errors: [{ pointer: 'query:cursor', message }] })
}
