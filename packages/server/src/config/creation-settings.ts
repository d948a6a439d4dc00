import type { Setting } from './setting.js'

/** What tenants may create that have no limits of their own. */
export const creationSettings = {
  maxJobs: {
    env: 'CARILLON_MAX_JOBS',
    type: 'int',
    unit: 'jobs',
    group: 'Jobs and ledger',
    default: 100_000,
    min: 0,
    max: 1_000_000_000,
    doc: 'How many live jobs a tenant may have that has no limit of its own.',
  },
  createPerSecond: {
    env: 'CARILLON_CREATE_PER_SECOND',
    type: 'int',
    unit: 'jobs',
    group: 'Jobs and ledger',
    default: 0,
    min: 0,
    max: 1_000_000,
    doc: 'How many jobs a tenant that has no limit of its own may create in a second; 0 is any number.',
  },
} as const satisfies Record<string, Setting>
