import type { Setting } from './setting.js'

/** Where everything is kept, and over how many connections. */
export const databaseSettings = {
  databaseUrl: {
    env: 'DATABASE_URL',
    type: 'url-secret',
    secret: true,
    group: 'Database',
    default: undefined,
    absent: 'none: an embedded Postgres',
    example: 'postgres://carillon:password@db.example.com:5432/carillon',
    doc: 'The Postgres that holds everything; without it an embedded one is started in the data folder.',
  },
  dataDir: {
    env: 'CARILLON_DATA_DIR',
    flag: '--data-dir',
    type: 'path',
    group: 'Database',
    default: '.carillon',
    doc: 'Folder of the embedded Postgres, relative to the working folder unless absolute.',
  },
  poolSize: {
    env: 'CARILLON_POOL_SIZE',
    type: 'int',
    unit: 'connections',
    group: 'Database',
    default: 10,
    min: 2,
    max: 1_000,
    doc: 'Database connections that one process may hold in its pool; requests to the API have as many more, firing and closing up to four, and life signs two of their own.',
  },
  taskPoolSize: {
    env: 'CARILLON_TASK_POOL_SIZE',
    type: 'int',
    unit: 'connections',
    group: 'Database',
    default: 5,
    min: 1,
    max: 1_000,
    doc: 'Connections that `ctx.transaction` of tasks may hold, apart from the pool; further transactions wait for one, and `ctx.once` has two more.',
  },
  statementTimeoutMs: {
    env: 'CARILLON_STATEMENT_TIMEOUT_MS',
    type: 'milliseconds',
    group: 'Database',
    default: 10_000,
    min: 100,
    max: 600_000,
    doc: 'Deadline of every database call; a call that misses it fails and its connection is discarded.',
  },
} as const satisfies Record<string, Setting>
