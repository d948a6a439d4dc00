import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { httpOptions } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

const dashboardDir = fileURLToPath(new URL('../../../../dashboard/public', import.meta.url))
const files = readdirSync(dashboardDir)
const server = createHttpServer(httpOptions({ dashboardDir }))

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

  it.each(files)('serves %s with a type that a browser accepts under nosniff', async (file) => {
    const types: Record<string, RegExp> = {
      js: /javascript/,
      css: /^text\/css/,
      svg: /^image\/svg/,
      html: /^text\/html/,
    }
    const answer = await server.inject(`/${file}`)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toMatch(types[file.split('.').at(-1) ?? ''] ?? /^$/)
    expect(answer.headers['content-security-policy']).toBeDefined()
  })

  it('is not sent again when the browser has it', async () => {
    const { headers } = await server.inject('/')
    const again = await server.inject({ url: '/', headers: { 'if-none-match': String(headers['etag']) } })
    expect(again.statusCode).toBe(304)
  })

  it.each([
    '/../package.json',
    '/..%2fpackage.json',
    '/%2e%2e/package.json',
    '/.git/config',
    '/index.html/x',
    '/x.js',
  ])('gives nothing else: %s', async (url) => {
    const answer = await server.inject(url)
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({ code: 'route_not_found' })
  })

  it('does not hide the API', async () => {
    expect((await server.inject('/api/v1/jobs')).json()).toEqual({ data: [], next_cursor: null })
  })
})

describe('its files', () => {
  const page = readFileSync(join(dashboardDir, 'index.html'), 'utf8')

  it('refer only to files that are there, or to the server', () => {
    const referred = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
    for (const address of referred.filter((one) => !one.startsWith('/'))) expect(files).toContain(address)
    expect(referred.length).toBeGreaterThan(3)
  })

  it('have no inline script, style or handler', () => {
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=/i)
  })

  it.each(files.filter((file) => file.endsWith('.js')))('%s makes no markup out of text', (file) => {
    expect(readFileSync(join(dashboardDir, file), 'utf8')).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/,
    )
  })
})
