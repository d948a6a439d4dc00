/** Statements of this process's scheduler that are under way and may hand runs to its worker. */
export class Handing {
  private readonly underWay = new Map<Promise<void>, number>()

  /** Places that are promised to them. */
  get promised(): number {
    let promised = 0
    for (const runs of this.underWay.values()) promised += runs
    return promised
  }

  /** One more begins, for so many runs; what it answers is called when that one has ended, however. */
  begin(runs: number): () => void {
    let settle: () => void = () => undefined
    const settled = new Promise<void>((resolve) => {
      settle = () => {
        this.underWay.delete(settled)
        resolve()
      }
    })
    this.underWay.set(settled, runs)
    return settle
  }

  /** When all that are under way now have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.underWay.keys())
  }
}
