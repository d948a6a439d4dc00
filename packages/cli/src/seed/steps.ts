import { type Progress, progressOf, rateText } from '../output/progress.js'
import type { Output } from '../output/output.js'

/** Tells how far each step of long work is: a bar at a terminal, a line now and then in a log, nothing beside --json. */
export class Steps {
  private bar: Progress | null = null
  private step = ''
  private begunAt = 0
  private toldAt = 0

  constructor(
    private readonly output: Output,
    private readonly terminal: boolean = process.stderr.isTTY,
    private readonly everyMs = 5_000,
    private readonly now: () => number = () => performance.now(),
  ) {}

  to(step: string, done: number, total: number): void {
    if (this.output.json) return
    if (step !== this.step) this.begin(step, total)
    if (this.terminal) this.bar?.to(done)
    else this.tell(done, total)
  }

  end(): void {
    this.bar?.stop()
    this.bar = null
    this.step = ''
  }

  private begin(step: string, total: number): void {
    this.end()
    this.step = step
    this.begunAt = this.toldAt = this.now()
    if (this.terminal) this.bar = progressOf(step, total)
  }

  private tell(done: number, total: number): void {
    const now = this.now()
    if (done < total && now - this.toldAt < this.everyMs) return
    this.toldAt = now
    this.output.note(lineOf(this.step, done, total, now - this.begunAt))
  }
}

/** "jobs  42 %  420,000 of 1,000,000  35,000/s  17 s left" */
export function lineOf(step: string, done: number, total: number, elapsedMs: number): string {
  const percent = total === 0 ? 100 : Math.floor((done / total) * 100)
  const parts = [step, `${percent} %`, `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`]
  if (done > 0) parts.push(`${rateText(done, elapsedMs)}/s`)
  if (done > 0 && done < total) parts.push(`${Math.ceil(((total - done) * elapsedMs) / done / 1000)} s left`)
  return parts.join('  ')
}
