export type { Config, LoadedConfig } from './config.js'
export * from './config.js'
export { systemClock } from './platform/clock.js'
export { createLog } from './platform/log.js'
export {
  createKey,
  migrateDatabase,
  openDatabase,
  openPostgres,
  type RunningServer,
  type StartOptions,
  startServer,
} from './main.js'
export { findBinaryPackage } from './db/embedded/binaries.js'
export { type EmbeddedState, findRunningPostgres } from './db/embedded/find-running.js'
export {
  type ClusterFacts,
  inspectCluster,
  inspectSchema,
  inspectServer,
  type ServerFacts,
} from './db/inspect.js'
export { Account, defaultTenant } from './pipeline/account/account.js'
export { loadMigrations, type MigrationStatus } from './db/migrate.js'
export { newUuid } from './platform/ids.js'
export { partitionOf } from './platform/partition.js'
export { type JobTemplate, jobTemplate } from './roles/job-template.js'
export { loadTasks } from './targets/task-registry.js'
export { version } from './version.js'
