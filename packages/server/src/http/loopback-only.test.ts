import { describe, expect, it } from 'vitest'
import { httpOptions } from '../../test/kit/http-ports.js'
import { createHttpServer } from './server.js'

const ask = (headers: Record<string, string>, options: Parameters<typeof httpOptions>[0] = {}) =>
  createHttpServer(httpOptions(options)).inject({ url: '/api/v1/jobs', headers })

describe('a server on loopback', () => {
  it.each([
    'localhost',
    'localhost:7420',
    'LOCALHOST',
    'app.localhost:7420',
    '127.0.0.1:7420',
    '127.1.2.3',
    '[::1]:7420',
  ])('answers to the host %s', async (host) => {
    expect((await ask({ host })).statusCode).toBe(200)
  })

  it.each([
    'evil.example',
    'evil.example:7420',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'notlocalhost',
  ])('refuses the host %s: a page gave its name our address', async (host) => {
    const answer = await ask({ host })
    expect(answer.statusCode).toBe(403)
    expect(answer.json()).toMatchObject({ code: 'foreign_host' })
    expect(answer.json<{ detail: string }>().detail).toContain(host)
  })

  it.each(['https://evil.example', 'null', 'http://localhost.evil.example', 'file://'])(
    'refuses what a page of %s sends',
    async (origin) => {
      const answer = await ask({ host: 'localhost', origin })
      expect(answer.json()).toMatchObject({ status: 403, code: 'foreign_host' })
    },
  )

  it.each(['http://localhost:7420', 'http://127.0.0.1:5173', 'http://[::1]:7420'])(
    'answers a page of %s',
    async (origin) => {
      expect((await ask({ host: 'localhost', origin })).statusCode).toBe(200)
    },
  )
})

it('a server beyond loopback has any name', async () => {
  expect((await ask({ host: 'carillon.example' }, { host: '0.0.0.0' })).statusCode).toBe(200)
})
