import type { Agent, Dispatcher } from 'undici'
import type { Answer, AnswerHeaders } from './http-answer.js'
import type { StopListener, StopSwitch } from './stop-switch.js'

/** What becomes of an answer, by its head: it is read into this, or broken off (null), as one that only leads elsewhere is. */
export type OnHead = (status: number, headers: AnswerHeaders) => Answer | null

/**
 * Sends one request. Done when its answer was read or broken off; fails where the connection does, or when it is stopped. The handler
 * is the one object that a request costs here: a stream for the answer, and a signal to end it, are half of what the client library
 * takes for a small one.
 */
export function send(
  agent: Agent,
  options: Dispatcher.DispatchOptions,
  stop: StopSwitch,
  onHead: OnHead,
): Promise<void> {
  return new Promise((resolve, reject) => {
    agent.dispatch(options, new Sending(resolve, reject, stop, onHead))
  })
}

class Sending implements Dispatcher.DispatchHandler, StopListener {
  private controller: Dispatcher.DispatchController | null = null
  private answer: Answer | null = null
  private done = false

  constructor(
    private readonly resolve: () => void,
    private readonly reject: (error: unknown) => void,
    private readonly stop: StopSwitch,
    private readonly onHead: OnHead,
  ) {
    stop.join(this)
  }

  whenStopped(reason: unknown): void {
    this.controller?.abort(reason as Error)
  }

  /** It has a connection now. It may have waited for one longer than it may be sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.stop.stopped) controller.abort(this.stop.reason as Error)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // Only the announcement of another one.
    if (status < 200) return
    this.answer = this.onHead(status, headers)
    if (this.answer === null) this.breakOff(controller)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.answer?.take(chunk) === false) this.breakOff(controller)
  }

  onResponseEnd(): void {
    if (this.ended()) this.resolve()
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (this.ended()) this.reject(error)
  }

  /** The connection goes with it: what else may come over it is not read. */
  private breakOff(controller: Dispatcher.DispatchController): void {
    if (this.ended()) this.resolve()
    controller.abort(brokenOff)
  }

  /** Whether it ends just now. */
  private ended(): boolean {
    if (this.done) return false
    this.done = true
    this.stop.leave(this)
    return true
  }
}

const brokenOff = new Error('the rest of the answer is not wanted')
