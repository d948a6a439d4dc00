// What the workers run inside themselves. Each attempt leaves its evidence (notes.mjs).
import { setTimeout as wait } from 'node:timers/promises'
import { monotonic } from './clock.mjs'
import { delivered, leavingEvidence, note } from './notes.mjs'

/** Without a promise where there is nothing to wait for: most runs are these. */
function quick(_input, ctx) {
  delivered(ctx)
  note({ out: monotonic(), token: ctx.fencingToken, said: 'ok' })
  return { ok: true }
}

/** An effect in a foreign system, and what comes before and after it: a kill may meet any of the three. */
async function effect({ ms }, ctx) {
  const told = { job: ctx.jobId, run: ctx.runId, token: ctx.fencingToken }
  await wait(ms / 2, undefined, { signal: ctx.signal })
  await ctx.once('effect', () => note({ effect: 'done', ...told }) && null)
  note({ effect: 'remembered', ...told })
  await wait(ms / 2, undefined, { signal: ctx.signal })
}

/** Writes in the application's own tables, with the end of the run. */
async function book({ ms }, ctx) {
  await wait(ms / 2, undefined, { signal: ctx.signal })
  await ctx.transaction(async (sql) => {
    await sql`INSERT INTO chaos.bookings VALUES (${ctx.runId}, ${ctx.jobId}, ${ctx.fencingToken})`
    await wait(ms / 2, undefined, { signal: ctx.signal })
  })
}

/** Takes memory until there is none. */
function hog() {
  const hoard = []
  for (;;) hoard.push(Array.from({ length: 1_000_000 }, (_, at) => at + hoard.length))
}

/** What a handler may answer or throw that no table can hold as it is. */
const poison = {
  circular: () => {
    const result = {}
    result.itself = result
    return result
  },
  nul: () => ({ text: 'a\u0000b', lone: '\ud800' }),
  huge: () => 'x'.repeat(4_000_000),
  undefined: () => Promise.reject(undefined),
  prototype: () => JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
  bigint: () => 10n ** 30n,
  error: () => Promise.reject(new Error('\u0000\u001b[2J'.repeat(1_000))),
}

export default {
  quick,
  slow: (input, ctx) => leavingEvidence(ctx, () => wait(input.ms, undefined, { signal: ctx.signal })),
  flaky: (_input, ctx) =>
    leavingEvidence(ctx, async () => {
      if ((ctx.fencingToken + ctx.attempt) % 3 === 0) throw new Error('it failed, as it sometimes does')
    }),
  effect: (input, ctx) => leavingEvidence(ctx, () => effect(input, ctx)),
  book: (input, ctx) => leavingEvidence(ctx, () => book(input, ctx)),
  hog: (_input, ctx) => leavingEvidence(ctx, async () => hog()),
  poison: (input, ctx) => leavingEvidence(ctx, async () => poison[input.kind]()),
}
