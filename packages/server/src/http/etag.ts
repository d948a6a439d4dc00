import { CarillonError, type Job } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyReply } from 'fastify'

export const etagHeader = { ETag: { type: 'string', description: 'The version of the job, in quotes' } }

export const ifMatchHeader = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'The ETag that the job has to have: otherwise nothing is changed' }),
  ),
})

export function sendJob(reply: FastifyReply, job: Job): FastifyReply {
  return reply.header('ETag', etagOf(job.version)).send(job)
}

export function etagOf(version: number): string {
  return `"${version}"`
}

const largestVersion = 2 ** 31 - 1

/** The version that a change is for, by header or body. Any: it only has to exist. */
export function expectedVersion(header: string | undefined, inBody?: number): number | 'any' | undefined {
  if (header === undefined) return inBody
  const text = header.trim()
  if (text === '*') return inBody ?? 'any'
  const version = Number(/^"?(\d{1,10})"?$/.exec(text)?.[1])
  if (!Number.isInteger(version) || version > largestVersion) {
    throw new CarillonError('invalid_if_match', {
      detail: `If-Match is ${JSON.stringify(header.slice(0, 64))}: a version in quotes is expected, such as "3".`,
    })
  }
  if (inBody !== undefined && inBody !== version) {
    throw new CarillonError('invalid_if_match', {
      detail: `If-Match says version ${version} and the body says ${inBody}.`,
    })
  }
  return version
}
