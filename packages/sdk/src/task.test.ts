import { expect, test } from 'vitest'
import {
  defineTask,
  EffectsUnavailableError,
  EffectsUsageError,
  effectsUnavailable,
  isLeaseLost,
  isNonRetryable,
  LeaseLostError,
  NonRetryableError,
  type TaskContext,
  type TaskDefinition,
} from './index.js'

test('a defined task is typed by its input and fits where any task is taken', async () => {
  const digest = defineTask({
    id: 'digest',
    run: (input: { user: string }, ctx) => `${input.user} ${ctx.attempt}`,
  })
  const anyTask: TaskDefinition = digest
  expect(anyTask.id).toBe('digest')
  expect(await digest.run({ user: 'u1' }, { attempt: 2 } as TaskContext)).toBe('u1 2')
})

const wrong: [object, RegExp][] = [
  [{ run: () => 1 }, /"id" has to be/],
  [{ id: '', run: () => 1 }, /"id" has to be/],
  [{ id: 'a' }, /"run" of the task "a"/],
]
test.each(wrong)('the definition %j is refused where it is made', (definition, message) => {
  expect(() => defineTask(definition as TaskDefinition)).toThrow(message)
})

test('a NonRetryableError keeps message and cause, and subclasses count too', () => {
  class CustomerGone extends NonRetryableError {}
  const error = new CustomerGone('gone', { cause: 'c' })
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ name: 'NonRetryableError', message: 'gone', cause: 'c' })
  expect(isNonRetryable(error)).toBe(true)
})

test.each([new Error('x'), null, undefined, 'text', {}])('%s is retryable', (thrown) => {
  expect(isNonRetryable(thrown)).toBe(false)
})

test('a worker without a database says so of ctx.once and ctx.transaction, and no attempt follows', async () => {
  const effect = () => 'done'
  for (const call of [effectsUnavailable.once('key', effect), effectsUnavailable.transaction(effect)]) {
    const error: unknown = await call.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(EffectsUnavailableError)
    expect(error).toHaveProperty('message', expect.stringMatching(/ctx\.(once|transaction) works only/))
    expect(isNonRetryable(error)).toBe(true)
  }
})

test('errors of effects are told apart without instanceof', () => {
  expect(isLeaseLost(new LeaseLostError('gone'))).toBe(true)
  expect(isNonRetryable(new LeaseLostError('gone'))).toBe(false)
  expect(isNonRetryable(new EffectsUsageError('wrong'))).toBe(true)
  expect(isLeaseLost(new Error('else'))).toBe(false)
})
