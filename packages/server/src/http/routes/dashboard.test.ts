import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { httpOptions } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'
import { viewPaths } from './dashboard.js'

const dashboardDir = mkdtempSync(join(tmpdir(), 'carillon-pages-'))
const script = 'console.log("a page")\n'.repeat(100)
mkdirSync(join(dashboardDir, 'assets'))
writeFileSync(join(dashboardDir, 'index.html'), '<!doctype html><title>Carillon</title>')
writeFileSync(join(dashboardDir, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
writeFileSync(join(dashboardDir, 'assets/index-abc123.js'), script)
writeFileSync(join(dashboardDir, 'assets/index-abc123.js.gz'), gzipSync(script))
writeFileSync(join(dashboardDir, 'assets/index-abc123.css'), 'a{}')
const server = createHttpServer(httpOptions({ dashboardDir }))
afterAll(() => rmSync(dashboardDir, { recursive: true, force: true }))

const html = { accept: 'text/html,application/xhtml+xml' }

describe('the dashboard', () => {
  it('is at / as a page that may load nothing from elsewhere', async () => {
    const page = await server.inject('/')
    expect(page.statusCode).toBe(200)
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    })
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'self';/)
    expect(page.headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/)
    expect(page.body).toContain('<title>Carillon</title>')
  })

  it.each([
    ['/favicon.svg', /^image\/svg/],
    ['/assets/index-abc123.js', /javascript/],
    ['/assets/index-abc123.css', /^text\/css/],
  ])('serves %s with a type that a browser accepts under nosniff', async (url, type) => {
    const answer = await server.inject(url)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toMatch(type)
    expect(answer.headers['content-security-policy']).toBeDefined()
  })

  it.each(viewPaths)(
    'answers the address of the view /%s, and those below it, with the page',
    async (view) => {
      for (const url of [`/${view}`, `/${view}/anything/below`, `/${view}?q=1`]) {
        const page = await server.inject({ url, headers: html })
        expect(page.statusCode).toBe(200)
        expect(page.body).toContain('<title>Carillon</title>')
        expect(page.headers['content-security-policy']).toMatch(/^default-src 'self';/)
        expect(page.headers['cache-control']).toBe('no-cache')
      }
    },
  )

  it('tells whoever forgot /api/v1 that this is no call', async () => {
    for (const headers of [{}, { accept: 'application/json' }, { accept: '*/*' }]) {
      const answer = await server.inject({ url: '/jobs', headers })
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toMatchObject({ code: 'route_not_found' })
    }
    const posted = await server.inject({ method: 'POST', url: '/jobs', headers: html, payload: {} })
    expect(posted.statusCode).toBe(404)
    expect(posted.headers['allow']).toBeUndefined()
  })

  it('is not sent again when the browser has it', async () => {
    const { headers } = await server.inject('/')
    const again = await server.inject({ url: '/', headers: { 'if-none-match': String(headers['etag']) } })
    expect(again.statusCode).toBe(304)
  })

  it('has files with a hash in their name kept for ever, and sends them compressed', async () => {
    const url = '/assets/index-abc123.js'
    const plain = await server.inject(url)
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    const packed = await server.inject({ url, headers: { 'accept-encoding': 'gzip' } })
    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(packed.headers['content-type']).toMatch(/javascript/)
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length)
  })

  it.each([
    '/../package.json',
    '/..%2fpackage.json',
    '/%2e%2e/package.json',
    '/.git/config',
    '/index.html/x',
    '/x.js',
    '/assets/index-abc123.js.gz',
  ])('gives nothing else: %s', async (url) => {
    const answer = await server.inject({ url, headers: html })
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({ code: 'route_not_found' })
  })

  it('does not hide the API', async () => {
    expect((await server.inject('/api/v1/jobs')).json()).toEqual({ data: [], next_cursor: null })
  })
})
