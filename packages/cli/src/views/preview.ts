import type { PreviewTick } from '@carillon/server/time'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { visible } from '../output/visible.js'

export interface Previewed {
  readonly ticks: readonly PreviewTick[]
  readonly description: string
  readonly warnings: readonly string[]
}

/** The plain reading of a schedule, what may be wrong with it, and its ticks. */
export function previewText(
  { ticks, description, warnings }: Previewed,
  zone: string,
  look: Pick<Look, 'colors' | 'width'>,
): string {
  const { colors } = look
  const warned = warnings.map((warning) => colors.yellow(`! ${visible(warning)}\n`)).join('')
  const head = `${colors.bold(visible(description))}\n${warned}`
  if (ticks.length === 0) return head
  return (
    head +
    renderTable<PreviewTick>(
      [
        { title: 'DAY', cell: ({ local }) => weekday(local) },
        { title: `LOCAL (${visible(zone)})`, cell: ({ local }) => spaced(local) },
        { title: 'UTC', cell: ({ at }) => spaced(at) },
        {
          title: ticks.some(({ note }) => note !== null) ? 'NOTE' : '',
          cell: ({ note }) => (note === null ? '' : `⚠ ${visible(note)}`),
          paint: colors.yellow,
        },
      ],
      ticks,
      look,
    )
  )
}

function weekday(local: string): string {
  const day = new Date(`${local.slice(0, 10)}T00:00:00Z`)
  return new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone: 'UTC' }).format(day)
}

/** 2026-10-24T02:30:00+02:00 as 2026-10-24 02:30 +02:00: seconds only where there are some. */
function spaced(iso: string): string {
  const [, date = '', time = '', zone = ''] = /^([^T]+)T([\d:.]+)(.*)$/.exec(iso) ?? []
  return `${date} ${time.replace(/^(\d\d:\d\d):00$/, '$1')}${zone === 'Z' ? '' : ' '}${zone}`
}
