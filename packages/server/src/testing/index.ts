/** For tests of tasks and schedules: `import { createTestEnv } from '@carillon/server/testing'`. */
export type { Duration } from './duration.js'
export { createTestEnv, type TestEnv, type TestEnvOptions } from './environment.js'
export type { TestRun } from './run.js'
