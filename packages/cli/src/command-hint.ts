import { editDistance } from '@carillon/server/config'
import type { Command } from 'commander'

const mostNamed = 3

/** "carillon lsit": what is said of a word that is no command, and nearly one of those below another. */
export function hintOf(program: Command, word: string): string | null {
  const nearest = program.commands.flatMap((group) =>
    group.commands
      .map((command) => ({
        path: `${group.name()} ${command.name()}`,
        far: editDistance(word, command.name()),
      }))
      .filter(({ far }) => far <= Math.min(2, Math.floor(word.length / 2))),
  )
  const least = Math.min(...nearest.map(({ far }) => far))
  const paths = nearest.filter(({ far }) => far === least).map(({ path }) => path)
  if (paths.length === 0) return null
  const more = paths.length > mostNamed ? ', …' : ''
  return `Did you mean carillon ${paths.slice(0, mostNamed).join(', or carillon ')}${more}?`
}
