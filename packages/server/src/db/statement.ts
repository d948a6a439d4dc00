import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { arrayText } from './array-text.js'
import { binaryArray } from './binary-array.js'

/**
 * `usually`: prepared under a name; Postgres plans it for each call until it finds that one plan serves all.
 * `each-time`: not prepared but planned for each call. For statements over the queue, which is empty one moment and holds half a
 * million rows the next: a plan kept from the empty table would scan the full one.
 * `once`: prepared, on connections that never read a table from end to end. For statements that find what they touch by its place
 * or its key, whatever the sizes are, and are called so often that planning them costs as much as they do.
 */
export type Planned = 'usually' | 'each-time' | 'once'

/**
 * SQL stands in a `.sql` file beside its stage: reviewed as SQL, prepared by a test on the real schema.
 *
 *     -- What it does; the lock it takes; the index it uses; why it is safe under concurrency.
 *     -- @param partitions smallint[]
 *     SELECT … WHERE partition = ANY(:partitions)
 *
 * `-- @plan each-time` and `-- @plan once` say when it is planned (`Planned`); `-- @whole definition` fills in what a job's definition was stored
 * without. Each `:name` becomes a typed parameter. A name that is not declared, or declared and not used, is an error.
 */
export interface Statement<Params, Row> {
  readonly name: string
  readonly text: string
  readonly params: readonly string[]
  /** Of each parameter. */
  readonly paramTypes: readonly string[]
  /** The room whose it is: a stage of the pipeline, or `cluster`, `db`. */
  readonly stage: string
  readonly planned: Planned
  /** Its column `definition` is that of a job: rows come with the fields that it was stored without. */
  readonly wholeDefinitions: boolean
  /** Only for the type checker: what a caller passes in and gets back. */
  readonly types?: (params: Params) => Row
}

export type ParamValue = string | number | boolean | null | Buffer | readonly ParamValue[]

export function statement<Params extends object, Row extends object>(file: URL): Statement<Params, Row> {
  const path = fileURLToPath(file)
  return parseStatement(path.replace(/^.*[/\\](?:src|dist)[/\\]/, ''), readFileSync(path, 'utf8'))
}

export function parseStatement<Params extends object, Row extends object>(
  file: string,
  source: string,
): Statement<Params, Row> {
  const types = new Map<string, string>()
  for (const [, name, type] of source.matchAll(/^--[ \t]*@param[ \t]+(\w+)[ \t]+(\S+)[ \t]*$/gm)) {
    types.set(name as string, type as string)
  }
  const params = [...types.keys()]
  const used = new Set<string>()
  const body = source.replace(/--.*$/gm, '').trim()
  const text = body.replace(/(?<![:\w]):([a-z_]\w*)/g, (_whole, name: string) => {
    const type = types.get(name)
    if (type === undefined) throw new Error(`${file}: the parameter :${name} is not declared with @param.`)
    used.add(name)
    return `$${params.indexOf(name) + 1}::${type}`
  })
  const unused = params.filter((name) => !used.has(name))
  if (unused.length > 0) throw new Error(`${file}: declared but not used: ${unused.join(', ')}.`)
  // Prepared once per connection under this name. The hash keeps two versions of the code apart behind one pooler.
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8)
  return {
    name: `${file.replace(/^.*[/\\]/, '').replace(/\.sql$/, '')}_${hash}`,
    text,
    params,
    paramTypes: [...types.values()],
    stage: stageOf(file),
    planned: plannedOf(file, source),
    wholeDefinitions: /^--\s*@whole\s+definition\s*$/m.test(source),
  }
}

function plannedOf(file: string, source: string): Planned {
  const said = /^--[ \t]*@plan[ \t]+(.*?)[ \t]*$/m.exec(source)?.[1]
  if (said === undefined || said === 'each-time' || said === 'once') return said ?? 'usually'
  throw new Error(`${file}: @plan ${said} is none that there is: each-time, once, or no such line.`)
}

function stageOf(file: string): string {
  const [room = '', stage = '', ...deeper] = file.split(/[/\\]/)
  return room === 'pipeline' && deeper.length > 0 ? stage : room
}

export function valuesOf(statement: Statement<never, object>, params: object): ParamValue[] {
  const given = params as Record<string, ParamValue | undefined>
  for (const name of Object.keys(given)) {
    if (!statement.params.includes(name)) throw new Error(`${statement.name} has no parameter ${name}.`)
  }
  return statement.params.map((name, at) => {
    const value = given[name]
    if (value === undefined) throw new Error(`${statement.name} was called without its parameter ${name}.`)
    if (!Array.isArray(value)) return value
    const values = value as readonly ParamValue[]
    return binaryArray(statement.paramTypes[at] ?? '', values) ?? arrayText(values)
  })
}
