import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/manual-clock.js'
import { Metrics } from '../platform/metrics.js'
import type { Context } from './context.js'
import { composeHeartbeat } from './heartbeat.js'

/** A process whose life signs fail and whose looks ask for another as the test says; its beats and looks are noted by their time. */
function setUp(answers: { fails?: boolean; nextLookInMs?: number }[]) {
  const clock = new ManualClock(0)
  const beats: number[] = []
  const looks: number[] = []
  let nextLookInMs: number | null = null
  const answer = async () => {
    const { fails, nextLookInMs: next } = answers.shift() ?? {}
    nextLookInMs = next ?? null
    await Promise.resolve()
    if (fails === true) throw new Error('the connection was reset')
  }
  const membership = {
    heartbeat() {
      beats.push(clock.monotonic())
      return answer()
    },
    look() {
      looks.push(clock.monotonic())
      return answer()
    },
    nextLookInMs: () => nextLookInMs,
  }
  const context = { config: { heartbeatMs: 250 }, clock, membership, log: pino({ level: 'silent' }) }
  const heartbeat = composeHeartbeat({ ...context, metrics: new Metrics() } as unknown as Context)
  return { heartbeat, beats, looks, pass: (ms: number) => clock.advance(ms) }
}

describe('the heartbeat', () => {
  test('comes at its interval while nothing happens', async () => {
    const { heartbeat, beats, pass } = setUp([])
    heartbeat.start()
    await pass(0)
    await pass(600)
    expect(beats).toEqual([0, 250, 500])
    await heartbeat.stop()
  })

  test('keeps its interval when a peer is due for a verdict between two: then there is a look, without a life sign', async () => {
    const { heartbeat, beats, looks, pass } = setUp([{ nextLookInMs: 120 }, { nextLookInMs: 40 }])
    heartbeat.start()
    await pass(0)
    await pass(600)
    expect(beats).toEqual([0, 250, 500])
    expect(looks).toEqual([120, 160])
    await heartbeat.stop()
  })

  test('comes at its time also when a look failed, which is tried again at once', async () => {
    const { heartbeat, beats, looks, pass } = setUp([{ nextLookInMs: 120 }, { fails: true }])
    heartbeat.start()
    await pass(0)
    await pass(260)
    expect(looks).toEqual([120, 145])
    expect(beats).toEqual([0, 250])
    await heartbeat.stop()
  })

  test('does not come later because a verdict is far away', async () => {
    const { heartbeat, beats, pass } = setUp([{ nextLookInMs: 900 }])
    heartbeat.start()
    await pass(0)
    await pass(260)
    expect(beats).toEqual([0, 250])
    await heartbeat.stop()
  })

  test('is tried again at once when its connection was reset, and once only', async () => {
    const { heartbeat, beats, pass } = setUp([{}, { fails: true }, { fails: true }])
    heartbeat.start()
    await pass(0)
    await pass(310)
    expect(beats).toEqual([0, 250, 275])
    await pass(150)
    expect(beats).toHaveLength(3)
    await heartbeat.stop()
  })

  test('comes back within two intervals of the end of an outage, however long that was', async () => {
    const { heartbeat, beats, pass } = setUp(Array.from({ length: 1_000 }, () => ({ fails: true })))
    heartbeat.start()
    await pass(0)
    await pass(60_000)
    const gaps = beats.map((at, index) => at - (beats[index - 1] ?? 0))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(500)
    expect(beats.length).toBeGreaterThan(100)
    expect(beats.length).toBeLessThan(300)
    await heartbeat.stop()
  })
})
