/** An answer as it is sent, and kept under an idempotency key. */
export interface Answer {
  status: number
  body: string
  location: string | null
}

/** A call with an idempotency key; `request` is a hash of what was asked. */
export interface KeyedCall {
  key: string
  request: Buffer
}

export interface Replayable {
  answer: Answer
  replayed: boolean
}

/** The transaction in which a key is kept. What is in it is no matter of this room: it is handed on to the ports. */
export type Inside = object

/** Calls that have their effect once, however often they are sent. */
export interface IdempotencyPort {
  /** Does the work, or gives the answer that is kept. What the work does `inside` is committed with the answer. */
  once(tenant: number, call: KeyedCall, work: (inside: Inside) => Promise<Answer>): Promise<Replayable>
  /** Keeps the answer of a call that changed nothing. */
  keep(tenant: number, call: KeyedCall, answer: Answer): Promise<void>
}
