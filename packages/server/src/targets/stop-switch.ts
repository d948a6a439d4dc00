export interface StopListener {
  whenStopped(reason: unknown): void
}

/**
 * Whether an attempt shall go on. An AbortSignal is a good part of what a run costs that does nothing, and hardly any run
 * is ever stopped: so the signal is made when somebody asks for it.
 */
export class StopSwitch {
  private isStopped = false
  private why: unknown
  private controller: AbortController | null = null
  private listener: StopListener | null = null
  private others: StopListener[] | null = null

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
    const { listener, others } = this
    this.listener = this.others = null
    listener?.whenStopped(this.why)
    for (const other of others ?? []) other.whenStopped(this.why)
    this.controller?.abort(this.why)
  }

  /** Told when it is stopped, in the order of their coming. Nearly always there is one: that one costs no list. */
  join(listener: StopListener): void {
    if (this.listener === null && this.others === null) this.listener = listener
    else (this.others ??= []).push(listener)
  }

  leave(listener: StopListener): void {
    if (this.listener === listener) this.listener = null
    else this.others = this.others?.filter((other) => other !== listener) ?? null
  }
}
