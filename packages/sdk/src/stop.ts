/** Why a handler is to stop. */
export type StopReason =
  /** The time of the attempt is up. */
  | 'timeout'
  /** A person cancelled the run. */
  | 'cancelled'
  /** A newer run of the job takes its place. */
  | 'replaced'
  /** The run is no longer this worker's: another one has it, or will. */
  | 'lost'
  /** The worker is shutting down. The run is handed back and begins again elsewhere. */
  | 'shutdown'

// A registered symbol is shared by every copy of this package in a process, where instanceof is not.
const stopReason = Symbol.for('carillon.stop-reason')

/** The reason of `ctx.signal`, and what `ctx.heartbeat` throws once it aborted. */
export class TaskStoppedError extends Error {
  /** As the platform names them: code that looks for an AbortError or a TimeoutError finds one. */
  override readonly name: 'TimeoutError' | 'AbortError'
  readonly reason: StopReason
  readonly [stopReason]: StopReason

  constructor(reason: StopReason, message: string) {
    super(message)
    this.name = reason === 'timeout' ? 'TimeoutError' : 'AbortError'
    this.reason = reason
    this[stopReason] = reason
  }
}

/** A signal whose reason is known. */
export interface TaskSignal extends AbortSignal {
  readonly reason: TaskStoppedError
}

/** Why a signal of a task aborted; undefined while it has not, and for any other error. Takes the signal or its reason. */
export function stopReasonOf(given: unknown): StopReason | undefined {
  const error: unknown = given instanceof AbortSignal ? given.reason : given
  if (typeof error !== 'object' || error === null || !(stopReason in error)) return undefined
  return (error as TaskStoppedError)[stopReason]
}
