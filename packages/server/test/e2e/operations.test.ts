import type { Operation, Run } from '@carillon/contract'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'

const jobCount = 300
const tasks = fileURLToPath(new URL('./support/tasks.mjs', import.meta.url))

/** Server-sent events as they come. */
class Events {
  text = ''
  ended = false
  private readonly hangUp = new AbortController()

  static async open(carillon: Carillon, lastId?: string): Promise<Events> {
    const events = new Events()
    const answer = await fetch(`${carillon.url}/api/v1/runs/stream`, {
      signal: events.hangUp.signal,
      headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
    })
    expect(answer.status).toBe(200)
    void events.read(answer)
    await until('the stream says where it stands', () => events.text.includes('id: '))
    return events
  }

  get runs(): Run[] {
    return this.blocks('run').map((block) => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as Run)
  }

  get lastId(): string {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? ''
  }

  blocks(event: string): string[] {
    return this.text.split('\n\n').filter((block) => block.startsWith(`event: ${event}\n`))
  }

  close(): void {
    this.hangUp.abort()
  }

  private async read(answer: Response): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) {
        this.text += decoder.decode(part, { stream: true })
      }
    } catch {
      // Cut off: by this test, or by a kill.
    }
    this.ended = true
  }
}

describe('an operation on many jobs, and a stream of their runs', () => {
  const folder = temporaryFolder()
  const file = join(folder.path, 'noted')
  let first: Carillon
  let second: Carillon

  beforeAll(async () => {
    ;[first, second] = await Promise.all([
      Carillon.up({ dataDir: folder.path, args: ['--tasks', tasks] }),
      Carillon.up({ dataDir: folder.path, args: ['--tasks', tasks] }),
    ])
    for (let n = 0; n < jobCount; n += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          first.client.jobs.create({
            name: `many-${n + at}`,
            schedule: '@every 12h',
            target: { type: 'task', task: 'note' },
            payload: { file },
          }),
        ),
      )
    }
  })

  afterAll(async () => {
    await Promise.all([first, second].map((carillon) => carillon?.killHard()))
    folder.remove()
  })

  test('survive kill -9: every job is triggered once, and every run is told once to who comes back', async () => {
    const before = await Events.open(first)
    const operation = await post<Operation>(second, '/operations', {
      action: 'trigger',
      filter: { search: 'MANY-' },
    })
    expect(operation.total).toBe(jobCount)
    await until('some are triggered', async () => (await progress(first, operation)).done > 0)
    before.close()
    await until('the stream is closed', () => before.ended)
    await second.killHard()
    const after = await Events.open(first, before.lastId)
    const ended = await until('the survivor has finished it', async () => {
      const now = await progress(first, operation)
      return now.state !== 'running' && now
    })
    expect(ended).toMatchObject({ state: 'done', done: jobCount, failed: 0, errors: [] })
    const closed = () => [...before.runs, ...after.runs].filter(({ status }) => status === 'success')
    await until('all ends are told', () => closed().length >= jobCount)
    const ids = closed().map(({ run_id: id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(closed().map(({ job_id: id }) => id)).size).toBe(jobCount)
    const { data } = await get<{ data: Run[] }>(first, '/runs?limit=1000&status=success')
    expect(data.map(({ run_id: id }) => id).sort()).toEqual([...ids].sort())
    after.close()
  })

  test('a server that stops ends its streams, and waits for none', async () => {
    const events = await Events.open(first)
    expect(await first.terminate()).toBe(0)
    await until('the stream has ended', () => events.ended)
    expect(events.blocks('closing')).toHaveLength(1)
  })
})

function progress(carillon: Carillon, { operation_id: id }: Operation): Promise<Operation> {
  return get<Operation>(carillon, `/operations/${id}`)
}

async function get<Body>(carillon: Carillon, path: string): Promise<Body> {
  return (await (await fetch(`${carillon.url}/api/v1${path}`)).json()) as Body
}

async function post<Body>(carillon: Carillon, path: string, body: object): Promise<Body> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${carillon.url}/api/v1${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return (await answer.json()) as Body
}
