import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../../../', import.meta.url))

/** Pages whose blocks are not run here, and why that is no gap. A folder ends with a slash. */
export const leftOut: readonly { path: string; why: string }[] = [
  { path: 'docs/adr/', why: 'records of decisions: they say what was thought then, and are not changed' },
  { path: 'docs/reference/api.md', why: 'generated from the contract; npm run check compares it' },
  { path: 'docs/reference/cli.md', why: 'generated from the commands; npm run check compares it' },
  { path: 'docs/reference/configuration.md', why: 'generated from the settings; npm run check compares it' },
  { path: 'docs/reference/errors.md', why: 'generated from the catalogue; npm run check compares it' },
  { path: 'docs/reference/metrics.md', why: 'generated from the metrics; npm run check compares it' },
]

export interface Block {
  page: string
  line: number
  /** The heading above it. */
  heading: string
  language: string
  code: string
  /** Why it cannot be run: `<!-- not run: … -->` right above it. */
  notRun: string | undefined
  /** The file that a reader saves it as: `<!-- file: … -->`. */
  file: string | undefined
  /** The schema of the OpenAPI document that its values have: `<!-- schema: … -->`. */
  schema: string | undefined
  /** It is what the command before it answers: `<!-- answer -->`. */
  answer: boolean
}

/** Every page of people's documentation, README first, as paths from the root. */
export function allPages(): string[] {
  const found = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.split(sep).join('/')}`)
  return ['README.md', ...found.sort()]
}

/** Those whose blocks are run. */
export function pagesToRun(): string[] {
  return allPages().filter((page) => !leftOut.some(({ path }) => page === path || isBelow(page, path)))
}

function isBelow(page: string, folder: string): boolean {
  return folder.endsWith('/') && page.startsWith(folder)
}

export function blocksOfPage(page: string): Block[] {
  return blocksOf(readFileSync(join(root, page), 'utf8'), page)
}

const mark = /^<!--\s*(not run|file|schema|answer)(?::\s*(.*?))?\s*-->$/

/** Every fenced block, whatever stands behind the fence. An open fence at the end is refused: it would hide a block. */
export function blocksOf(text: string, page: string): Block[] {
  const blocks: Block[] = []
  let heading = page
  let marks = new Map<string, string>()
  let open: { fence: string; indent: string; block: Block; lines: string[] } | null = null
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    const before = lines.slice(0, index)
    const fence = /^(\s*)(`{3,}|~{3,})\s*(.*)$/.exec(line)
    if (open !== null) {
      if (fence?.[2]?.startsWith(open.fence) !== true || fence[3] !== '') {
        open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
        continue
      }
      open.block.code = `${open.lines.join('\n')}\n`
      blocks.push(open.block)
      open = null
      marks = new Map()
    } else if (fence !== null) {
      const [, indent = '', ticks = '', language = ''] = fence
      const block = { page, line: index + 1, heading, language, code: '', ...markedAs(marks) }
      open = { fence: ticks, indent, block, lines: [] }
    } else {
      heading = /^#+\s+(.*)$/.exec(line)?.[1] ?? heading
      const found = mark.exec(line)
      if (found?.[1] !== undefined) marks.set(found[1], found[2] ?? '')
      // A mark is for the block right below it.
      else if (line.trim() !== '') marks = new Map()
      if (isIndentedCode(line, before))
        throw new Error(`${page}:${index + 1}: an indented block would not be run; put it between fences`)
    }
  }
  if (open !== null) throw new Error(`${page}:${open.block.line}: the block is not closed`)
  return blocks
}

/** Four blanks after an empty line, and no list that it could belong to. */
function isIndentedCode(line: string, before: readonly string[]): boolean {
  if (!/^ {4}\S/.test(line) || before.at(-1)?.trim() !== '') return false
  const outer = before.findLast((one) => /^\S/.test(one)) ?? ''
  return !/^([-*+]|\d+\.)\s/.test(outer)
}

function markedAs(marks: ReadonlyMap<string, string>): Pick<Block, 'notRun' | 'file' | 'schema' | 'answer'> {
  return {
    notRun: marks.get('not run'),
    file: marks.get('file'),
    schema: marks.get('schema'),
    answer: marks.has('answer'),
  }
}

export function placeOf({ page, line }: Block): string {
  return `${page}:${line}`
}
