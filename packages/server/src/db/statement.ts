import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { arrayText } from './array-text.js'
import { binaryArray } from './binary-array.js'

/**
 * SQL stands in a `.sql` file beside its stage: reviewed as SQL, prepared by a test on the real schema.
 *
 *     -- What it does; the lock it takes; the index it uses; why it is safe under concurrency.
 *     -- @param partitions smallint[]
 *     SELECT … WHERE partition = ANY(:partitions)
 *
 * `-- @plan each-time` keeps it from being prepared under a name; `-- @whole definition` fills in what a job's definition was stored
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
  /**
   * Not prepared under a name but planned for each call. For statements over the queue, which is empty one moment and
   * holds half a million rows the next: a plan kept from the empty table would scan the full one.
   */
  readonly plannedEachTime: boolean
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
    plannedEachTime: /^--\s*@plan\s+each-time\s*$/m.test(source),
    wholeDefinitions: /^--\s*@whole\s+definition\s*$/m.test(source),
  }
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
