import { displayWidth } from './display-width.js'
import type { Look } from './look.js'

/** "Name   value" lines with their values aligned, for one thing looked at closely. */
export function renderFacts(
  facts: readonly (readonly [name: string, value: string])[],
  { colors }: Pick<Look, 'colors'>,
): string {
  const widest = Math.max(0, ...facts.map(([name]) => displayWidth(name)))
  const indent = `\n${' '.repeat(widest + 2)}`
  return facts
    .map(([name, value]) => [name, value.replaceAll('\n', indent)] as const)
    .map(([name, value]) => `${colors.dim(name)}${' '.repeat(widest - displayWidth(name) + 2)}${value}`)
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
