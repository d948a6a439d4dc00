import type { StandardSchemaV1 } from '@standard-schema/spec'
import { expect, expectTypeOf, test } from 'vitest'
import {
  defineTask,
  InvalidInputError,
  isNonRetryable,
  type PayloadOf,
  readInput,
  runTask,
  type SchemaIssue,
  type StandardSchema,
  type TaskContext,
  type TaskDefinition,
  TaskStoppedError,
  stopReasonOf,
} from './index.js'

/** As a library's schema looks from outside: takes a text, gives a number. */
function schemaOf<Input, Output>(
  validate: (value: unknown) => { value: Output } | { issues: SchemaIssue[] },
): StandardSchema<Input, Output> {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}
const count = schemaOf<{ n: string }, { n: number }>((value) => {
  const { n } = value as { n: unknown }
  return typeof n === 'string'
    ? { value: { n: Number(n) } }
    : { issues: [{ message: 'no text', path: ['n'] }] }
})
const context = { signal: new AbortController().signal } as TaskContext

test('the handler gets what the schema makes of the payload, and both are typed', async () => {
  const task = defineTask({
    id: 'count',
    input: count,
    run(input) {
      expectTypeOf(input).toEqualTypeOf<{ n: number }>()
      return input.n + 1
    },
  })
  expectTypeOf<PayloadOf<typeof task>>().toEqualTypeOf<{ n: string }>()
  const anyTask: TaskDefinition = task
  expect(await runTask(anyTask, { n: '41' }, context)).toBe(42)
})

test('a schema as the specification has it is taken', () => {
  expectTypeOf<StandardSchemaV1<string, number>>().toExtend<StandardSchema<string, number>>()
  expectTypeOf<StandardSchema<string, number>>().toExtend<StandardSchemaV1<string, number>>()
})

test('what does not fit is final, and every field is named by its pointer', async () => {
  const path = ['a/b', { key: 0 }, 'c~d']
  const schema = schemaOf(() => ({ issues: [{ message: 'wrong', path }, { message: 'bad as a whole' }] }))
  const error: unknown = await readInput({ id: 'strict', input: schema }, {}).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(InvalidInputError)
  expect(isNonRetryable(error)).toBe(true)
  expect(error).toMatchObject({
    message: 'The payload does not fit the task "strict": /a~1b/0/c~0d: wrong; the payload: bad as a whole',
    errors: [
      { pointer: '/a~1b/0/c~0d', message: 'wrong' },
      { pointer: '', message: 'bad as a whole' },
    ],
  })
})

test('of very many fields the first are named and the rest is counted', async () => {
  const issues = Array.from({ length: 12 }, (_, at) => ({ message: 'wrong', path: [at] }))
  await expect(readInput({ id: 's', input: schemaOf(() => ({ issues })) }, {})).rejects.toThrow(
    /\/9: wrong \(and 2 more\)$/,
  )
})

test('without a schema the payload is given as it is', async () => {
  const payload = { a: 1 }
  expect(await readInput({ id: 'free' }, payload)).toBe(payload)
})

test('a handler is not begun once its signal aborted while the payload was checked', async () => {
  const stop = new AbortController()
  let ran = false
  const slow = schemaOf(() => {
    stop.abort(new TaskStoppedError('timeout', 'late'))
    return { value: 1 }
  })
  const task: TaskDefinition = {
    id: 'slow',
    input: slow,
    run: () => {
      ran = true
    },
  }
  await expect(runTask(task, 1, { signal: stop.signal } as TaskContext)).rejects.toThrow('late')
  expect(ran).toBe(false)
})

test.each([[{}], [null], ['schema'], [{ '~standard': null }]])(
  'the schema %j is refused where it is made',
  (input) => {
    const definition = { id: 'a', input, run: () => 1 } as unknown as TaskDefinition
    expect(() => defineTask(definition)).toThrow(/"input" of the task "a" is no Standard Schema/)
  },
)

test('the reason of a stop is named as the platform names it, and found without instanceof', () => {
  const timeout = new TaskStoppedError('timeout', 'late')
  const lost = new TaskStoppedError('lost', 'gone')
  expect([timeout.name, lost.name]).toEqual(['TimeoutError', 'AbortError'])
  expect([stopReasonOf(timeout), stopReasonOf(lost)]).toEqual(['timeout', 'lost'])
  expect(stopReasonOf(AbortSignal.abort(lost))).toBe('lost')
  for (const other of [
    new AbortController().signal,
    AbortSignal.abort(),
    new Error('x'),
    null,
    undefined,
    'x',
  ])
    expect(stopReasonOf(other)).toBeUndefined()
})
