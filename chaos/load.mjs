// The load: cheap jobs that run every second, so many that the ticks of a run count in thousands.

/**
 * Half of them tick with the wall clock's second, all at once; the others each at a moment of its own. A tenth starts as its
 * place allows, the rest whenever due: a backlog after a fault is then worked off, not skipped.
 * @param {number} perSecond @param {{ url: string, httpShare: number }} receiver
 */
export function drawLoad(perSecond, { url, httpShare }) {
  return Array.from({ length: perSecond }, (_, index) => {
    const isHttp = (index * httpShare) % 1 < httpShare
    const target = isHttp ? { type: 'http', url: `${url}load` } : { type: 'task', task: 'quick' }
    return {
      group: 'steady',
      kind: isHttp ? 'loadHttp' : 'loadTask',
      input: {
        name: `load-${index}`,
        schedule: index % 2 === 0 ? '* * * * * *' : '@every 1s',
        overlap_policy: index % 10 === 9 ? 'QUEUE' : 'ALLOW',
        missed_window: 'SKIP',
        // A run may meet several kills; only they use up attempts here.
        retry: { max_attempts: 20, backoff: 'fixed', base_ms: 100 },
        target,
      },
    }
  })
}

/** Runs that take a while, so that a kill meets them. @param {number} count @param {import('./random.mjs').Random} random */
export function drawInFlight(count, random, { url }) {
  return Array.from({ length: count }, (_, index) => ({
    group: 'steady',
    kind: 'inFlight',
    input: {
      name: `in-flight-${index}`,
      schedule: '* * * * * *',
      overlap_policy: 'ALLOW',
      missed_window: 'SKIP',
      retry: { max_attempts: 20, backoff: 'fixed', base_ms: 100 },
      target: { type: 'http', url: `${url}slow?ms=${random.between(300, 1_500)}` },
    },
  }))
}

/** Jobs of the hostile host: a deadline that it can miss, and attempts that it can use up. */
export function drawHostile(count, { hostileUrl }) {
  return Array.from({ length: count }, (_, index) => ({
    group: 'steady',
    kind: 'hostile',
    input: {
      name: `hostile-${index}`,
      schedule: '@every 5s',
      overlap_policy: 'SKIP',
      missed_window: 'SKIP',
      timeout_seconds: 2,
      retry: { max_attempts: 3, backoff: 'fixed', base_ms: 200 },
      target: { type: 'http', url: hostileUrl },
    },
  }))
}

const poisons = ['circular', 'nul', 'huge', 'undefined', 'prototype', 'bigint', 'error']

/** Handlers that answer and throw what no table can hold as it is. */
export function drawPoison() {
  return poisons.map((kind) => ({
    group: 'steady',
    kind: 'poison',
    input: {
      name: `poison-${kind}`,
      schedule: '@every 7s',
      overlap_policy: 'SKIP',
      retry: { max_attempts: 2, backoff: 'fixed', base_ms: 200 },
      target: { type: 'task', task: 'poison' },
      payload: { kind },
    },
  }))
}

/** Handlers that do a thing once: an effect that is remembered, and writes that commit with the run. */
export function drawOnce(random) {
  const jobs = ['effect', 'book'].flatMap((task) => Array.from({ length: 10 }, (_, at) => ({ task, at })))
  return jobs.map(({ task, at }) => ({
    group: 'steady',
    kind: task,
    input: {
      name: `${task}-${at}`,
      schedule: '* * * * * *',
      overlap_policy: 'ALLOW',
      missed_window: 'SKIP',
      retry: { max_attempts: 20, backoff: 'fixed', base_ms: 100 },
      target: { type: 'task', task },
      payload: { ms: random.between(50, 600) },
    },
  }))
}

/** A job whose handler takes more memory than its worker has, when somebody triggers it. Each crash is an attempt. */
export function drawHogs() {
  return [
    {
      group: 'steady',
      kind: 'hog',
      input: {
        name: 'hog-0',
        schedule: '@every 24h',
        overlap_policy: 'ALLOW',
        retry: { max_attempts: 2, backoff: 'fixed', base_ms: 100 },
        target: { type: 'task', task: 'hog' },
      },
    },
  ]
}

/** Jobs of which ticks that have passed are run again. */
export function drawBackfilled() {
  return Array.from({ length: 5 }, (_, at) => ({
    group: 'steady',
    kind: 'backfilled',
    input: {
      name: `backfilled-${at}`,
      schedule: `@every ${5 + at}s`,
      overlap_policy: 'ALLOW',
      retry: { max_attempts: 20, backoff: 'fixed', base_ms: 100 },
      target: { type: 'task', task: 'quick' },
    },
  }))
}

/** Jobs of the workers over HTTP. */
export function drawRemote(random) {
  return Array.from({ length: 20 }, (_, at) => ({
    group: 'steady',
    kind: 'remote',
    input: {
      name: `remote-${at}`,
      schedule: at % 2 === 0 ? '* * * * * *' : '@every 2s',
      overlap_policy: at % 5 === 4 ? 'QUEUE' : 'ALLOW',
      missed_window: 'SKIP',
      retry: { max_attempts: 20, backoff: 'fixed', base_ms: 100 },
      target: { type: 'task', task: 'remote' },
      payload: { ms: random.between(10, 500) },
    },
  }))
}
