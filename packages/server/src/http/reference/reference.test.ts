import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { httpOptions } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'
import { apiDocument } from './api-document.js'
import { type OpenApiDocument, typeOf } from './document.js'
import { renderApiReference } from './markdown.js'
import { renderReferencePage } from './page.js'

let document: OpenApiDocument

beforeAll(async () => {
  document = await apiDocument('1.2.3')
})

describe('the reference', () => {
  it.each([
    ['page', renderReferencePage],
    ['markdown', renderApiReference],
  ])('as a %s names every path, parameter, field of a body and error', (_kind, render) => {
    const text = render(document).replaceAll('&quot;', '"').replaceAll('&#39;', "'")
    for (const [path, methods] of Object.entries(document.paths)) {
      expect(text).toContain(path)
      for (const { summary, parameters = [] } of Object.values(methods)) {
        expect(text).toContain(summary)
        for (const { name } of parameters) expect(text).toContain(name)
      }
    }
    for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
      expect(text).toContain(name)
      for (const field of Object.keys(properties)) expect(text).toContain(field)
    }
    expect(text).toContain('job_name_taken')
  })

  it('shows what is in the document as text, whatever it is', () => {
    const hostile = { ...document, info: { title: '<script>alert(1)</script>', version: '"\'&' } }
    const page = renderReferencePage(hostile)
    expect(page).not.toContain('<script')
    expect(page).toContain('&lt;script&gt;')
  })

  it('leads from every name of a shape to the shape', () => {
    const page = renderReferencePage(document)
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target ?? '')
    const places = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    expect(targets.length).toBeGreaterThan(50)
    expect(targets.filter((target) => !places.has(target))).toEqual([])
  })

  it('is served under a policy that knows its style and nothing else', async () => {
    const server = createHttpServer(httpOptions({}))
    const answer = await server.inject({ method: 'GET', url: '/api/v1/reference' })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    const style = /<style>([^]*?)<\/style>/.exec(answer.body)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(answer.headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`)
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
  })
})

describe('a type in words', () => {
  it.each([
    [{ $ref: '#/components/schemas/Job' }, 'Job'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'integer | null'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'],
    [{ type: 'array', items: { $ref: '#/components/schemas/Run' } }, 'Run[]'],
    [{}, 'any'],
  ])('%j is %s', (schema, words) => {
    expect(typeOf(schema)).toBe(words)
  })
})
