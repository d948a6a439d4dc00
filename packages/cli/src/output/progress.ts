import { SingleBar } from 'cli-progress'

/** How far long work has come. Shown to a person at a terminal; a pipe or a log sees nothing of it. */
export interface Progress {
  /** So many are done now, of so many. */
  to(done: number, total?: number, also?: string): void
  stop(): void
}

/** Short work needs no bar: it would only flicker. */
const worthABar = 5

export function progressOf(label: string, total: number): Progress {
  if (!process.stderr.isTTY || total < worthABar) return { to: () => undefined, stop: () => undefined }
  const bar = new SingleBar({
    stream: process.stderr,
    format: `${label} {bar} {percentage}%  {value}/{total}  {rate}/s  ETA {eta_formatted} {also}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 50,
  })
  const begun = performance.now()
  bar.start(total, 0, { rate: '–', also: '' })
  return {
    to(done, newTotal, also = '') {
      if (newTotal !== undefined) bar.setTotal(newTotal)
      bar.update(done, { rate: rateText(done, performance.now() - begun), also })
    },
    stop: () => bar.stop(),
  }
}

export function rateText(done: number, elapsedMs: number): string {
  if (elapsedMs <= 0 || done === 0) return '–'
  const rate = (done / elapsedMs) * 1000
  return rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1)
}
