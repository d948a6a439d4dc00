import type { RevealedSigningSecret, SigningSecret } from '@carillon/sdk'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'

export function secretTable(secrets: readonly SigningSecret[], look: Look): string {
  return renderTable<SigningSecret>(
    [
      { title: 'ID', cell: ({ id }) => visible(id) },
      { title: 'SECRET', cell: ({ hint }) => visible(hint) },
      {
        title: 'STATE',
        cell: ({ retires_at }) => (retires_at === null ? '● current' : '○ retiring'),
        paint: (text, { retires_at }) =>
          retires_at === null ? look.colors.green(text) : look.colors.dim(text),
      },
      { title: `MADE (${look.timeZone})`, cell: (secret) => when(secret.created_at, look) },
      { title: `RETIRES (${look.timeZone})`, cell: (secret) => when(secret.retires_at, look) },
    ],
    secrets,
    look,
  )
}

/** Beside the new secret: what becomes of the one before, and what to do now. */
export function rotatedText(made: RevealedSigningSecret, overlapSeconds: number, look: Look): string {
  const before =
    overlapSeconds === 0
      ? 'The secret before signs nothing any more, within 5 s.'
      : 'The secret before signs beside it: give receivers the new one until it retires (carillon secrets list).'
  return `Every worker signs with it by ${whenInZone(made.signs_by, look)}.\n${before}`
}
