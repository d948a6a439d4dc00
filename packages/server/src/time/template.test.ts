import { CarillonError } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkTemplate, renderTemplate } from './template.js'

const jobId = 'job_01k0000000000000000000000a'
const render = (template: string, scheduledAt: string, timezone = 'UTC') =>
  renderTemplate(template, { jobId, scheduledAt: Date.parse(scheduledAt), timezone })

function refused(template: string): CarillonError {
  try {
    checkTemplate(template)
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('renderTemplate', () => {
  it.each([
    ['{{job_id}}:{{scheduled_at_unix}}', '2026-11-15T09:00:00.999Z', 'UTC', `${jobId}:1794733200`],
    [
      '{{date}} {{ week }} {{month}} {{year}} {{hour}}',
      '2026-11-15T09:30:00Z',
      'UTC',
      '2026-11-15 2026-W46 2026-11 2026 2026-11-15T09',
    ],
    ['{{hour}}', '2026-01-01T00:00:00Z', 'UTC', '2026-01-01T00'],
    ['{{date}}', '2026-11-15T02:00:00Z', 'America/New_York', '2026-11-14'],
    ['{{hour}}', '2026-11-15T20:00:00Z', 'Asia/Kathmandu', '2026-11-16T01'],
    ['weekly-report-{{week}}', '2026-11-02T14:00:00Z', 'America/New_York', 'weekly-report-2026-W45'],
    ['{{week}}', '2027-01-03T12:00:00Z', 'UTC', '2026-W53'],
    ['{{week}}', '2024-12-30T12:00:00Z', 'UTC', '2025-W01'],
    ['{{week}}', '2026-01-01T12:00:00Z', 'UTC', '2026-W01'],
    ['constant', '2026-01-01T12:00:00Z', 'UTC', 'constant'],
  ])('renders %s at %s in %s', (template, scheduledAt, timezone, expected) => {
    expect(render(template, scheduledAt, timezone)).toBe(expected)
  })

  it('gives each seven days from Monday one week of their own', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5000 }), (weeks) => {
        const monday = Date.UTC(1970, 0, 5) + weeks * 7 * 86_400_000
        const weekOf = (instant: number) =>
          renderTemplate('{{week}}', { jobId, scheduledAt: instant, timezone: 'UTC' })
        expect(weekOf(monday + 7 * 86_400_000 - 1)).toBe(weekOf(monday))
        expect(weekOf(monday - 1) < weekOf(monday)).toBe(true)
      }),
    )
  })
})

describe('checkTemplate', () => {
  it.each(['{{job_id}}:{{scheduled_at_unix}}', 'report-{{ date }}', 'plain'])('takes %s', (template) => {
    expect(() => checkTemplate(template)).not.toThrow()
  })

  it.each([
    ['{{dat}}', /'dat' is not a variable/, /\{\{date\}\}\?/],
    ['{{job}}', /'job' is not a variable/, /\{\{job_id\}\}/],
    ['{{toString}}', /'toString' is not a variable/, /Variables:/],
    ['{{}}', /'' is not a variable/, /Variables:/],
    ['{{date}', /'\{' without its partner/, /\{\{date\}\}/],
    ['date}}', /'\}' without its partner/, /\{\{date\}\}/],
    ['{date}', /'\{' without its partner/, /\{\{date\}\}/],
    ['{{{date}}}', /'\{' without its partner/, /\{\{date\}\}/],
    ['a\r\nb: c', /header/, /Idempotency-Key/],
    ['naïve', /header/, /accents/],
    [' ', /empty/, /Variables:/],
    ['x'.repeat(201), /201 characters/, /at most 200/],
    ['{{job_id}}'.repeat(9), /up to 270 characters; at most 255/, /fewer/],
  ])('refuses %j, saying what and how to correct it', (template, message, hint) => {
    const error = refused(template)
    expect(error.code).toBe('invalid_template')
    expect(error.errors[0]?.pointer).toBe('/idempotency_key_template')
    expect(error.errors[0]?.message).toMatch(message)
    expect(error.errors[0]?.hint).toMatch(hint)
  })

  it('answers any text with a verdict, and a text that passes can be rendered within the limit', () => {
    const unit = fc.constantFrom('{', '}', '{{', '}}', '{{date}}', '{{job_id}}', 'a', ' ', '\n', '\u0000')
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit })), (template) => {
        try {
          checkTemplate(template)
        } catch (error) {
          expect(error).toBeInstanceOf(CarillonError)
          return
        }
        expect(render(template, '2026-11-15T09:00:00Z').length).toBeLessThanOrEqual(255)
      }),
    )
  })
})
