import { CarillonError } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkTemplate, renderTemplate, warnOfTemplate } from './template.js'

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
    // The hour that the clocks show twice is one hour of the wall: both ticks of it have one key.
    ['{{hour}}', '2026-11-01T05:30:00Z', 'America/New_York', '2026-11-01T01'],
    ['{{hour}}', '2026-11-01T06:30:00Z', 'America/New_York', '2026-11-01T01'],
    // The hour that the clocks jump over has no key.
    ['{{hour}}', '2026-03-08T06:59:59Z', 'America/New_York', '2026-03-08T01'],
    ['{{hour}}', '2026-03-08T07:00:00Z', 'America/New_York', '2026-03-08T03'],
    // Year, month and week turn at the job's midnight, not at that of UTC.
    ['{{year}} {{month}} {{week}}', '2025-12-31T10:59:59Z', 'Pacific/Auckland', '2025 2025-12 2026-W01'],
    ['{{year}} {{month}} {{week}}', '2025-12-31T11:00:00Z', 'Pacific/Auckland', '2026 2026-01 2026-W01'],
    ['{{year}} {{month}} {{week}}', '2027-01-04T04:59:59Z', 'America/New_York', '2027 2027-01 2026-W53'],
    ['{{year}} {{month}} {{week}}', '2027-01-04T05:00:00Z', 'America/New_York', '2027 2027-01 2027-W01'],
    // Samoa had no 30 December 2011.
    ['{{date}}', '2011-12-30T09:59:59Z', 'Pacific/Apia', '2011-12-29'],
    ['{{date}}', '2011-12-30T10:00:00Z', 'Pacific/Apia', '2011-12-31'],
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

describe('warnOfTemplate', () => {
  it.each([
    '{{scheduled_at_unix}}',
    '{{date}}',
    '{{ week }}',
    'r-{{month}}',
    '{{year}}',
    '{{hour}}',
    '{{job_id}}:{{date}}',
  ])('says nothing of %s, whose key changes with the tick', (template) =>
    expect(warnOfTemplate(template)).toBeNull(),
  )

  it.each(['constant', '{{job_id}}', 'date'])('warns of %s, which gives every run one key', (template) => {
    expect(warnOfTemplate(template)).toMatchObject({
      code: 'template_without_time',
      pointer: '/idempotency_key_template',
      message: expect.stringContaining(template) as string,
      hint: expect.stringContaining(
        '{{scheduled_at_unix}} {{date}} {{week}} {{month}} {{year}} {{hour}}',
      ) as string,
    })
  })
})
