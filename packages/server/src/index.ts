export type { Config, LoadedConfig } from './config.js'
export * from './config.js'
export { systemClock } from './platform/clock.js'
export { createLog } from './platform/log.js'
export {
  migrateDatabase,
  openDatabase,
  openPostgres,
  type RunningServer,
  type StartOptions,
  startServer,
} from './main.js'
export { loadMigrations } from './db/migrate.js'
export { version } from './version.js'
