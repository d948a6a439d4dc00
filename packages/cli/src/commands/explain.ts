import type { CatalogueEntry } from '@carillon/contract'
import { editDistance } from '@carillon/server/config'
import { Command } from 'commander'
import { renderFacts } from '../output/facts.js'
import { outputOf, withJson } from '../output/output.js'
import { renderTable } from '../output/table.js'
import { visible } from '../output/visible.js'
import { NotFoundError } from '../usage.js'

interface Explained {
  code: string
  /** Null for what the command itself says without an answer of a server. */
  status: number | null
  title: string
  hint: string
}

const ownCodes: readonly Explained[] = [
  {
    code: 'unexpected_answer',
    status: null,
    title: 'Something answered that is not Carillon',
    hint: 'Check --url or CARILLON_URL: the address of the server, without /api/v1, and no proxy or login page before it.',
  },
]

/** `carillon explain CODE`: what an error code means and what to do. */
export function explainCommand(): Command {
  const command = new Command('explain')
    .description('Say what an error code means and what to do; without a code, list them all')
    .argument('[code]', 'e.g. invalid_schedule')
  withJson(command)
  command.action(async (given: string | undefined) => {
    const output = outputOf(command)
    const all = await readCatalogue()
    if (given === undefined) {
      output.result({ data: all }, () => renderTable(listColumns, all, output.look))
      return
    }
    const entry = find(all, given)
    output.result(entry, () =>
      renderFacts(
        [
          ['Code', output.look.colors.bold(entry.code)],
          ['Means', entry.title],
          ['HTTP', entry.status === null ? 'none: said by the command itself' : String(entry.status)],
          ['What to do', entry.hint],
        ],
        output.look,
      ),
    )
  })
  return command
}

const listColumns = [
  { title: 'CODE', cell: (entry: Explained) => entry.code },
  { title: 'HTTP', cell: (entry: Explained) => String(entry.status ?? '–') },
  { title: 'MEANS', cell: (entry: Explained) => entry.title, least: 20 },
]

/** Loaded when it is needed: the contract brings its schemas along. */
async function readCatalogue(): Promise<Explained[]> {
  const { errorCatalogue } = await import('@carillon/contract')
  const entries = Object.entries<CatalogueEntry>(errorCatalogue)
  return [...entries.map(([code, entry]) => ({ code, ...entry })), ...ownCodes].sort((a, b) =>
    a.code.localeCompare(b.code),
  )
}

function find(all: readonly Explained[], given: string): Explained {
  const code = given
    .trim()
    .toLowerCase()
    .replace(/^urn:carillon:error:/, '')
    .replaceAll(/[-\s]/g, '_')
  const found = all.find((entry) => entry.code === code)
  if (found !== undefined) return found
  const [nearest] = all
    .map((entry) => ({ code: entry.code, distance: distance(code, entry.code) }))
    .sort((a, b) => a.distance - b.distance)
  const advice =
    nearest !== undefined && nearest.distance < 0.5
      ? `Did you mean ${nearest.code}?`
      : 'carillon explain lists the codes there are.'
  throw new NotFoundError(`There is no error code "${visible(given)}". ${advice}`)
}

/** From 0, the same, to 1. A part of a code ("timezone") is near to it, however long the code is. */
function distance(given: string, code: string): number {
  if (given.length > 64) return 1
  if (given.length > 3 && code.includes(given)) return 0.1
  return editDistance(given, code) / Math.max(given.length, code.length)
}
