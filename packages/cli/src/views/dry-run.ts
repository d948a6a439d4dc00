import type { JobDryRun } from '@carillon/sdk'
import type { Look } from '../output/look.js'
import { visible } from '../output/visible.js'
import { previewText } from './preview.js'

/** What a change would come to: what would be done, and the ticks that would follow. */
export function triedText(
  { definition, description, ticks, warnings }: JobDryRun,
  what: string,
  look: Look,
): string {
  const words = warnings.map(({ message, hint }) => (hint === undefined ? message : `${message} ${hint}`))
  const preview = previewText({ ticks, description, warnings: words }, definition.timezone, look)
  return `${look.colors.green('✓')} ${what}. ${visible('Nothing was changed.')}\n${preview}`
}
