import { hiddenValue } from '@carillon/contract'
import { expect, test } from 'vitest'
import { mayCall, needs } from '../../src/http/access.js'
import { type ApiHouse, openApi } from '../kit/api-house.js'
import { die } from '../kit/letters.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const secret = 's3cret-of-the-target'
const target = { type: 'http' as const, url: 'https://example.com/hook', headers: { Authorization: secret } }

/** Streams have no end to wait for. */
const endless = new Set(['streamRuns', 'streamStats'])

/** Every read that a viewer may do, with what there is filled in. */
async function reads(
  api: ApiHouse,
  known: Record<string, string>,
): Promise<[operation: string, path: string][]> {
  const { paths } = await api.document()
  return Object.entries(paths).flatMap(([path, methods]) => {
    const operation = methods['get']?.operationId ?? ''
    const need = needs[operation]
    const open = need === undefined || need === 'open' || endless.has(operation)
    if (open || !mayCall(need, { role: 'viewer', tenant: 1 })) return []
    const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => known[name] ?? whole)
    return filled.includes('{') || !path.startsWith('/api/v1/')
      ? []
      : [[operation, filled.slice('/api/v1'.length)]]
  })
}

async function arranged() {
  const node = await house().node()
  const job = await node.register({ name: 'hidden', target, max_retries: 0 })
  await die(house(), node, job)
  await node.registry.edit(1, job.job_id, { description: 'another version' })
  const api = await openApi(house(), node)
  const [operator, viewer, worker] = [
    await api.key('operator'),
    await api.key('viewer'),
    await api.key('worker'),
  ]
  const { body } = await api.ask('GET', '/dead-letters', { key: operator })
  const [letter] = body['data'] as { run_id: string }[]
  const known = { job_id: job.job_id, name: 'hidden', version: '1', run_id: letter?.run_id ?? '' }
  return { api, job, known, operator, viewer, worker }
}

test('what the headers of a target say is shown to operators, and by no route to viewers and workers', async () => {
  const { api, known, operator, viewer, worker } = await arranged()
  const seen: string[] = []
  const hiding: string[] = []
  for (const [operation, path] of await reads(api, known)) {
    const [full, less] = [
      await api.ask('GET', path, { key: operator }),
      await api.ask('GET', path, { key: viewer }),
    ]
    if (JSON.stringify(full.body).includes(secret)) seen.push(operation)
    if (JSON.stringify(less.body).includes(hiddenValue)) hiding.push(operation)
    expect([operation, JSON.stringify(less.body).includes(secret)]).toEqual([operation, false])
    expect([operation, less.status]).toEqual([operation, full.status])
    const need = needs[operation]
    if (need === undefined || need === 'open' || need.worker !== true) continue
    const worked = await api.ask('GET', path, { key: worker })
    expect([operation, JSON.stringify(worked.body).includes(secret)]).toEqual([operation, false])
  }
  expect(hiding.sort()).toEqual(seen.sort())
  expect(seen).toEqual(
    expect.arrayContaining([
      'getDeadLetter',
      'getJob',
      'getJobByName',
      'getJobVersion',
      'listJobVersions',
      'listJobs',
    ]),
  )
})

test('who may change a job gets it back as it was; what a viewer saw is refused', async () => {
  const { api, known, operator, viewer } = await arranged()
  const path = `/jobs/${known.job_id}`
  const { body: whole } = await api.ask('GET', path, { key: operator })
  const kept = await api.ask('PATCH', path, { key: operator, body: { target: whole['target'] } })
  expect([kept.status, kept.body['target']]).toMatchObject([200, target])
  const { body: less } = await api.ask('GET', path, { key: viewer })
  expect(less['target']).toMatchObject({ ...target, headers: { Authorization: hiddenValue } })
  const refused = await api.ask('PATCH', path, { key: operator, body: { target: less['target'] } })
  expect(refused.status).toBe(422)
  expect(JSON.stringify(refused.body)).toContain('not the value')
  expect((await api.ask('GET', path, { key: operator })).body['target']).toMatchObject(target)
})
