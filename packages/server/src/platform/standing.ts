/** Where a process stands: it listens before it works, and still while it leaves. */
export class Standing {
  #away: string | null = 'starting'
  #open: () => void = () => undefined
  /** Resolves when the process has begun to work. */
  readonly opened = new Promise<void>((resolve) => (this.#open = resolve))

  /** Why it does not work at present, in a word or two; null where it does. */
  get away(): string | null {
    return this.#away
  }

  begin(): void {
    this.#away = null
    this.#open()
  }

  leave(): void {
    this.#away = 'draining'
  }
}
