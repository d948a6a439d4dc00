import type { RunAttempt, RunDetail } from '@carillon/contract'

/** One bar of a run's waterfall, in milliseconds since its tick. */
export interface Bar {
  label: string
  kind: 'staged' | 'waiting' | 'leased' | 'success' | 'failed' | 'running' | 'decided'
  from: number
  to: number
  note: string
}

/** due → could start → leased → attempts → closed, in order. `now` ends what goes on. */
export function barsOf(run: RunDetail, now: number): Bar[] {
  const due = Date.parse(run.scheduled_at)
  const since = (iso: string) => Date.parse(iso) - due
  const bars = run.attempts.flatMap((attempt) => attemptBars(attempt, since, run.round > 1))
  const last = run.attempts.at(-1)
  const goesOn = run.status === 'running' || run.status === 'pending'
  const isNew = last === undefined || last.attempt < run.attempt || last.round < run.round
  if (goesOn && isNew) {
    const ready = run.available_at === null ? 0 : since(run.available_at)
    const words = `attempt ${run.attempt}`
    if (run.started_at === null)
      bars.push({
        label: `waits for ${words}`,
        kind: 'waiting',
        from: Math.min(ready, now - due),
        to: Math.max(ready, now - due),
        note: run.reason ?? '',
      })
    else
      bars.push({
        label: words,
        kind: 'running',
        from: since(run.started_at),
        to: now - due,
        note: 'under way',
      })
  }
  return bars
}

function attemptBars(attempt: RunAttempt, since: (iso: string) => number, withRound: boolean): Bar[] {
  const name = withRound ? `round ${attempt.round}, attempt ${attempt.attempt}` : `attempt ${attempt.attempt}`
  const recorded = since(attempt.recorded_at)
  if (attempt.started_at === null) {
    const label = attempt.attempt === 0 ? 'decided' : name
    return [{ label, kind: 'decided', from: recorded, to: recorded, note: attempt.reason ?? attempt.outcome }]
  }
  const started = since(attempt.started_at)
  const finished = attempt.finished_at === null ? recorded : since(attempt.finished_at)
  const bars: Bar[] = []
  const ready = attempt.available_at === null ? null : since(attempt.available_at)
  const leased = attempt.leased_at === null ? null : since(attempt.leased_at)
  if (leased !== null && ready !== null && leased > ready)
    bars.push({
      label: `${name}: ready`,
      kind: 'waiting',
      from: ready,
      to: leased,
      note: 'waits for a worker',
    })
  if (leased !== null)
    bars.push({
      label: `${name}: leased`,
      kind: leased < started ? 'leased' : 'staged',
      from: leased,
      to: started,
      note: `by ${attempt.worker ?? 'a worker'}`,
    })
  const ok = attempt.outcome === 'success'
  bars.push({
    label: name,
    kind: ok ? 'success' : 'failed',
    from: started,
    to: finished,
    note: attempt.error ?? attempt.outcome,
  })
  if (recorded > finished)
    bars.push({ label: `${name}: closed`, kind: 'staged', from: finished, to: recorded, note: 'recorded' })
  return bars
}

/** Where a bar lies between the first and the last instant, in percent; the shortest can still be seen. */
export function spans(bars: readonly Bar[]): { start: number; width: number }[] {
  const first = Math.min(0, ...bars.map(({ from }) => from))
  const last = Math.max(1, ...bars.map(({ to }) => to))
  const whole = last - first
  return bars.map(({ from, to }) => {
    const start = ((from - first) / whole) * 100
    return { start: Math.min(start, 99.4), width: Math.max(((to - from) / whole) * 100, 0.6) }
  })
}
