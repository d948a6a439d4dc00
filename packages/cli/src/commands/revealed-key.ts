import type { RevealedKey } from '@carillon/sdk'
import type { Output } from '../output/output.js'
import { visible } from '../output/visible.js'

/** The key on stdout, everything about it on stderr. */
export function revealed(made: RevealedKey, output: Output): void {
  output.result(made, () => `${visible(made.key)}\n`)
  if (!output.json)
    output.note(
      `This is the only time it is shown. ${visible(made.name)}: ${visible(made.role)}, ${visible(made.key_id)}`,
    )
}
