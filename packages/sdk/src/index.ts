export type {
  FieldProblem,
  HttpTarget,
  Job,
  JobInput,
  JobList,
  Run,
  Target,
  TaskTarget,
} from '@carillon/contract'
export { type Client, type ClientOptions, createClient } from './client.js'
export { ApiError, type ApiErrorCode, type ApiErrorFields, ConnectionError } from './errors.js'
export {
  defineTask,
  isNonRetryable,
  NonRetryableError,
  type TaskContext,
  type TaskDefinition,
  type TaskLog,
} from './task.js'
