/**
 * Whether an attempt shall go on. An AbortSignal is a good part of what a run costs that does nothing, and hardly any run
 * is ever stopped: so the signal is made when somebody asks for it.
 */
export class StopSwitch {
  private isStopped = false
  private why: unknown
  private controller: AbortController | null = null
  private listeners: Set<() => void> | null = null

  /** Stops when the signal aborts. */
  static by(signal: AbortSignal): StopSwitch {
    const stop = new StopSwitch()
    if (signal.aborted) stop.stop(signal.reason)
    else signal.addEventListener('abort', () => stop.stop(signal.reason), { once: true })
    return stop
  }

  get stopped(): boolean {
    return this.isStopped
  }

  get reason(): unknown {
    return this.why
  }

  /** For fetch and the like. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.isStopped) this.controller.abort(this.why)
    return this.controller.signal
  }

  /** Once: a reason that comes later changes nothing. */
  stop(reason: unknown): void {
    if (this.isStopped) return
    this.isStopped = true
    this.why = reason ?? new DOMException('cancelled', 'AbortError')
    const { listeners } = this
    this.listeners = null
    for (const listener of listeners ?? []) listener()
    this.controller?.abort(this.why)
  }

  /** Calls when it is stopped, unless what is answered was called before. */
  onStop(listener: () => void): () => void {
    this.listeners ??= new Set()
    this.listeners.add(listener)
    return () => this.listeners?.delete(listener)
  }
}
