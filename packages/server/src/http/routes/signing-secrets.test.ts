import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

const url = '/api/v1/signing-secrets'

function setUp() {
  const ports = new MemoryPorts()
  return { ports, secrets: ports.signingSecrets, server: createHttpServer(httpOptions({ api: ports })) }
}

describe('signing secrets', () => {
  it('are listed without the secret, and shown where they are asked for', async () => {
    const { secrets, server } = setUp()
    const [stored] = secrets.stored
    const list = await server.inject(url)
    expect(list.statusCode).toBe(200)
    expect(list.json()).toMatchObject({ data: [{ id: stored?.id, retires_at: null }] })
    expect(list.body).not.toContain(stored?.secret)
    const shown = await server.inject(`${url}/current`)
    expect(shown.json()).toEqual(stored)
    expect(shown.headers['cache-control']).toBe('no-store')
  })

  it('are rotated: the answer is the new one, and it is made, not only found', async () => {
    const { secrets, server } = setUp()
    const answer = await server.inject({
      method: 'POST',
      url: `${url}/rotate`,
      payload: { overlap_seconds: 60 },
    })
    expect(answer.statusCode).toBe(201)
    expect(answer.json()).toEqual(secrets.stored[0])
    expect(secrets.rotations).toEqual([{ overlap_seconds: 60 }])
  })

  it('end one by one, but not the current one, and not one that is not there', async () => {
    const { secrets, server } = setUp()
    const [old] = secrets.stored
    await secrets.rotate(1, {})
    const end = (id = '') => server.inject({ method: 'DELETE', url: `${url}/${id}` })
    expect((await end(secrets.stored[0]?.id)).json()).toMatchObject({
      status: 409,
      code: 'signing_secret_current',
    })
    expect((await end(old?.id)).statusCode).toBe(204)
    expect((await end(old?.id)).json()).toMatchObject({ status: 404, code: 'signing_secret_not_found' })
  })

  it.each([
    [{ overlap_seconds: -1 }, '/overlap_seconds', 'validation_failed'],
    [{ overlap_seconds: 30 * 86_400 + 1 }, '/overlap_seconds', 'validation_failed'],
    [{ overlap_seconds: 0.5 }, '/overlap_seconds', 'validation_failed'],
    [{ overlap_seconds: '60' }, '/overlap_seconds', 'validation_failed'],
    [{ overlap: 60 }, '/overlap', 'unknown_field'],
    [{ secret: 'whsec_mine' }, '/secret', 'unknown_field'],
  ])('are not rotated with %j', async (payload, pointer, code) => {
    const { secrets, server } = setUp()
    const answer = await server.inject({ method: 'POST', url: `${url}/rotate`, payload })
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ code, errors: [{ pointer }] })
    expect(secrets.rotations).toEqual([])
  })

  it('are not rotated by a call without a body', async () => {
    const { secrets, server } = setUp()
    const answer = await server.inject({ method: 'POST', url: `${url}/rotate` })
    expect(answer.statusCode).toBe(400)
    expect(secrets.rotations).toEqual([])
  })
})
