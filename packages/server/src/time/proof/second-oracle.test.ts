import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { casesAround, cronRules, policies, scenes } from '../../../test/oracle/arbitraries.js'
import { disagreement, text } from '../../../test/oracle/compare.mjs'
import { engineOf, patience, sample, seed } from '../../../test/oracle/engine.js'
import { type OracleRule, oracleTicks } from '../../../test/oracle/oracle.mjs'
import {
  askPython,
  dateutilIsMissing,
  offsetInstants,
  type PythonQuestion,
  pythonIsMissing,
} from '../../../test/oracle/python.js'
import { anyRecurrence } from '../../../test/oracle/recurrences.js'
import { DAY, HOUR, readWall } from '../../../test/oracle/wall-clock.mjs'

const missing = pythonIsMissing()
// Without Python there is nothing to ask; with a Python that lacks its zone data, a full run must say so.
const mayBeMissing = missing === 'python3 is not installed' || process.env['CARILLON_REQUIRE_ALL'] !== '1'
if (missing) console.warn(`SKIPPED: the second oracle was not asked, because ${missing}.`)
const withoutRecurrences = !missing && dateutilIsMissing()
if (withoutRecurrences) console.warn('SKIPPED: no recurrence rule was compared: python3 has no dateutil.')

/** The ticks that Python finds, handed over question by question where both zone databases agree. */
function compare(
  questions: PythonQuestion[],
  judge: (question: PythonQuestion, ticks: number[]) => void,
): void {
  const elsewhere: string[] = []
  for (const [i, answer] of askPython(questions).entries()) {
    const question = questions[i]
    if (!question) throw new Error(`an answer to no question: ${i}`)
    const { zone, from, to } = question
    if ('unknown' in answer) {
      elsewhere.push(`${zone}: unknown to Python`)
      continue
    }
    const offsets = offsetInstants(question).map((at) => (readWall(zone, at) - at) / 1000)
    if (JSON.stringify(offsets) === JSON.stringify(answer.offsets)) judge(question, answer.ticks)
    else elsewhere.push(`${zone} between ${text(from)} and ${text(to)}`)
  }
  if (elsewhere.length > 0) {
    console.warn(`Zone data differ between Node and Python, not compared:\n${elsewhere.join('\n')}`)
  }
  expect(elsewhere.length).toBeLessThan(questions.length * 0.1)
}

function expectEngine(schedule: string | OracleRule, question: PythonQuestion, ticks: number[]): void {
  const { zone, from, to, dst_gap, dst_overlap } = question
  const where = `${JSON.stringify(question)}, ${text(from)} to ${text(to)}, seed ${seed}`
  const engine = engineOf({ schedule, timezone: zone, anchor: 0, dst_gap, dst_overlap })
  if (engine) expect(disagreement(engine, ticks, from, to), where).toBeNull()
  else expect(ticks, where).toEqual([])
}

describe('the second oracle, over the zone data of Python', () => {
  it.skipIf(missing && mayBeMissing)(
    'has the same ticks as the engine and as the first oracle',
    () => {
      expect(missing).toBeNull()
      const drawn = casesAround(scenes(20 * HOUR), (scene) => fc.tuple(cronRules(scene.near), policies))
      const questions = fc.sample(drawn, sample(60)).flatMap(({ scene: { zone, from, to }, cases }) => {
        return cases.map(([rule, policy]) => ({ rule, zone, from, to, ...policy }))
      })
      compare(questions, (question, ticks) => {
        const rule = 'rule' in question ? question.rule : ''
        const { zone, from, to, dst_gap, dst_overlap } = question
        const source = { schedule: rule, timezone: zone, anchor: 0, dst_gap, dst_overlap }
        expect(oracleTicks(source, from, to), JSON.stringify(question)).toEqual(ticks)
        expectEngine(rule, question, ticks)
      })
    },
    patience,
  )

  it.skipIf((missing && mayBeMissing) || withoutRecurrences)(
    'has the same ticks for recurrence rules, expanded by dateutil',
    () => {
      const around = scenes(25 * DAY).filter(({ at }) => at > Date.UTC(1972, 0, 1))
      const drawn = casesAround(around, (scene) => fc.tuple(anyRecurrence(scene), policies))
      const questions = fc.sample(drawn, sample(25)).flatMap(({ scene: { zone, from, to }, cases }) => {
        return cases.map(([rule, policy]) => ({ ...rule, zone, from, to, ...policy }))
      })
      compare(questions, (question, ticks) => {
        if (!('rrule' in question)) throw new Error('not a recurrence rule')
        expectEngine({ rrule: question.rrule, dtstart: question.dtstart }, question, ticks)
      })
    },
    patience,
  )
})
