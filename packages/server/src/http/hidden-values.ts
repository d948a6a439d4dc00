import { hiddenValue } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../platform/caller.js'

/** Who may change a job may see all of it, or a change would begin with a guess. Others read what a job does, not what it proves itself with. */
const seesAll: ReadonlySet<Caller['role']> = new Set(['operator', 'admin'])

/** What is the caller's own data, whatever it looks like. */
const data: ReadonlySet<string> = new Set(['payload', 'result'])

/** The fields of a target that may hold credentials: by the type of the target. */
const secretFields: Readonly<Record<string, string>> = { http: 'headers', command: 'env' }

/**
 * For every answer of the API, whichever route it is: the values of the headers and environment variables of targets are hidden from
 * viewers and workers. Their names are shown. One place, so that a route that is added shows no more than the others.
 */
export function hideValues(app: FastifyInstance): void {
  app.addHook('preSerialization', (request, _reply, answer, done) => {
    const { caller } = request
    done(null, caller === null || seesAll.has(caller.role) ? answer : withoutValues(answer))
  })
}

/** A copy in which no target shows a value. What has no target in it is the same object. */
export function withoutValues(answer: unknown): unknown {
  if (Array.isArray(answer)) {
    const copies = answer.map(withoutValues)
    return copies.some((copy, at) => copy !== answer[at]) ? copies : answer
  }
  if (answer === null || typeof answer !== 'object') return answer
  const before = Object.entries(answer)
  const secret = secretFieldOf(answer)
  const after = before.map(([name, value]): [string, unknown] => {
    if (data.has(name)) return [name, value]
    return [name, name === secret ? hiddenIn(value) : withoutValues(value)]
  })
  return after.some(([, value], at) => value !== before[at]?.[1]) ? Object.fromEntries(after) : answer
}

function secretFieldOf(object: object): string | undefined {
  const { type } = object as { type?: unknown }
  return typeof type === 'string' && Object.hasOwn(secretFields, type) ? secretFields[type] : undefined
}

function hiddenIn(values: unknown): unknown {
  if (values === null || typeof values !== 'object') return values
  return Object.fromEntries(Object.keys(values).map((name) => [name, hiddenValue]))
}
