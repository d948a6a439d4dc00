import type { AlertKind, AlertSeverity } from '@carillon/contract'

/** Something that is to be raised: as raise.sql takes it. `tenant` null: it concerns the fleet. */
export interface Finding {
  tenant: number | null
  kind: AlertKind
  severity: AlertSeverity
  /** Says which alert this is: it is open once, however often it is raised. */
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
  job?: number | null
  /** The tick that it was found at: a later one that went well is its end. */
  mark?: number | null
  /** How many times it was found; 1 where it is left out. */
  found?: number
}

export interface Over {
  tenant: number | null
  fingerprint: string
}

/** The job that something was found of. */
export interface JobFacts {
  job: number
  tenant: number
  uuid: string
  name: string
  tags: string[] | null
  expect: { start_within_seconds?: number; finish_within_seconds?: number } | null
}

export function fingerprintOf(kind: AlertKind, { uuid }: Pick<JobFacts, 'uuid'>): string {
  return `${kind}:${uuid}`
}
