import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { commonErrors, operation } from '../openapi.js'
import type { OpenApiDocument } from '../reference/document.js'
import { referenceStyle, renderReferencePage } from '../reference/page.js'

const openApiOperation = operation({
  operationId: 'getOpenApi',
  summary: 'This document',
  tag: 'operations',
  answers: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
  errors: commonErrors,
})

const referenceOperation = operation({
  operationId: 'getReference',
  summary: 'This document as a page for people',
  tag: 'operations',
  answers: { 200: { description: 'HTML', mediaType: 'text/html', schema: { type: 'string' } } },
  errors: commonErrors,
})

/** No script, nothing from elsewhere; the one style is known by its hash. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(referenceStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function addReferenceRoutes(app: FastifyInstance): void {
  let page: string | null = null
  app.get('/openapi.json', { schema: openApiOperation }, (_request, reply) => reply.send(app.swagger()))
  app.get('/reference', { schema: referenceOperation }, (_request, reply) => {
    page ??= renderReferencePage(app.swagger() as unknown as OpenApiDocument)
    return reply
      .headers({ 'Content-Security-Policy': contentSecurityPolicy, 'X-Frame-Options': 'DENY' })
      .type('text/html; charset=utf-8')
      .serializer((text: string) => text)
      .send(page)
  })
}
