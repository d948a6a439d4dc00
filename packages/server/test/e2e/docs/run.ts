import { examplesOf } from '../../oracle/examples.js'
import { type DocumentedOperation, departures, operationsOf, schemaMistakes } from '../support/openapi.js'
import { type Block, placeOf, root } from './blocks.js'
import { type Command, type HttpCall, callsOf, commandsOf } from './commands.js'
import type { House, Running } from './house.js'
import { jsonOfPage, patternOf, unlike, withDatesMoved, withoutBlankEnds, withoutLog } from './likeness.js'
import { putProgram } from './programs.js'

/** What a block, or one command of it, needs beyond being run. */
export interface Rule {
  /** Words of the block or the command that it is for. */
  of: string
  /** The exit code that belongs to it; 0 unless told otherwise. */
  exit?: number
  /** What is typed when it asks. Then it gets a terminal. */
  typed?: string
  /** What stands before it in the reader's own file, and behind it. */
  prelude?: string
  coda?: string
  /** The file that it is saved as, with these. */
  file?: string
  env?: (house: House) => Record<string, string>
  before?: (house: House) => Promise<void> | void
  /** It goes on by itself: this happens meanwhile, and then it is told to end. */
  meanwhile?: (house: House, running: Running) => Promise<void>
  /** It is left to go on until the page ends. */
  stays?: boolean
  after?: (house: House, output: string) => Promise<void> | void
  /** What JSON on the page is compared with. */
  shows?: (house: House) => Promise<unknown>
}

export class PageRun {
  private lastOutput = ''
  private operations: DocumentedOperation[] | undefined
  private readonly used = new Set<Rule>()

  constructor(
    private readonly house: House,
    private readonly rules: readonly Rule[],
  ) {}

  /** Rules that no block had use for: the page has changed, and they are to go. */
  unused(): string[] {
    return this.rules.filter((rule) => !this.used.has(rule)).map(({ of }) => of)
  }

  async run(block: Block): Promise<void> {
    const { language, code } = block
    switch (language) {
      case 'sh':
      case 'bash':
      case 'console':
        for (const command of commandsOf(language, code)) await this.shell(command)
        return
      case 'http':
        for (const call of callsOf(code)) await this.http(call)
        return
      case 'ts':
      case 'js':
      case 'yaml':
        return this.file(block)
      case 'python':
        return void (await this.started(this.ruleOf(code), () => ['python3', '-c', this.filledIn(code)]))
      case 'sql':
        return this.sql(code)
      case 'json':
        return this.json(block)
      case 'ticks':
        return this.ticks(block)
      default:
        throw new Error(
          `No one knows how to run a block of '${language}'. Name its language, or say above it why it is not run: <!-- not run: … -->`,
        )
    }
  }

  private ruleOf(text: string): Rule {
    const found = this.rules.find((rule) => text.includes(rule.of))
    if (found !== undefined) this.used.add(found)
    return found ?? { of: '' }
  }

  /** With this house's address, its ids for the page's placeholders, and dates as far away as they were. */
  private filledIn(text: string): string {
    const { host } = new URL(this.house.url)
    let filled = withDatesMoved(text, Date.now()).replace(/(localhost|127\.0\.0\.1):7420/g, host)
    for (const [name, value] of this.house.placeholders) {
      const word = /^\w+$/.test(name) ? new RegExp(`\\b${name}\\b`, 'g') : name
      filled = filled.replaceAll(word, () => value)
    }
    return filled
  }

  private async shell({ text, output }: Command): Promise<void> {
    const rule = this.ruleOf(text)
    const printed = await this.started(rule, () => {
      const line = this.filledIn(text)
      return rule.typed === undefined
        ? ['bash', '-c', line]
        : ['script', '-qec', `stty cols 200; ${line}`, '/dev/null']
    })
    this.lastOutput = printed
    if (output === undefined) return
    const shown = this.filledIn(output)
    if (!patternOf(shown).test(withoutBlankEnds(withoutLog(printed))))
      throw new Error(`${text}\nprints:\n${printed}\nand the page has:\n${shown}`)
  }

  /** What a reader saves, or runs at once. */
  private async file(block: Block): Promise<void> {
    const { language } = block
    const rule = this.ruleOf(block.code)
    const code = () => this.filledIn(`${rule.prelude ?? ''}${block.code}${rule.coda ?? ''}`)
    const file = block.file ?? rule.file
    if (file !== undefined) {
      await rule.before?.(this.house)
      this.house.write(file, code())
      await rule.after?.(this.house, '')
      return
    }
    if (language !== 'ts' && language !== 'js')
      throw new Error('Say as which file this is saved: <!-- file: … -->')
    const name = placeOf(block).replace(/\W+/g, '-')
    await this.started(rule, () => [process.execPath, putProgram(name, language, code())])
  }

  /** Runs a program as its rule says, to its end or until it is told to end; answers what it printed. */
  private async started(rule: Rule, words: () => [string, ...string[]]): Promise<string> {
    await rule.before?.(this.house)
    const [program, ...args] = words()
    const running = this.house.start(program, args, rule.env?.(this.house))
    if (rule.typed === undefined) running.type('')
    else void running.printed(/\[y\/N\]/).then(() => running.type(rule.typed ?? ''), noQuestion)
    if (rule.meanwhile !== undefined) {
      await rule.meanwhile(this.house, running)
      if (rule.stays === true) return running.output
    }
    const code = await (rule.meanwhile === undefined ? running.ended : running.end('SIGTERM'))
    const expected = rule.exit ?? (rule.meanwhile === undefined ? 0 : code)
    if (code !== expected)
      throw new Error(`${args.join(' ')}\nended with ${code} instead of ${expected}:\n${running.output}`)
    await rule.after?.(this.house, running.output)
    return running.output
  }

  private async http(call: HttpCall): Promise<void> {
    const rule = this.ruleOf(`${call.method} ${call.path} ${call.body ?? ''}`)
    await rule.before?.(this.house)
    const below = call.path.startsWith('/api/') ? '' : '/api/v1'
    const path = this.filledIn(`${below}${call.path}`)
    const response = await fetch(`${this.house.url}${path}`, {
      method: call.method,
      ...(call.body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: this.filledIn(call.body),
      }),
    })
    const body = await response.text()
    const told = `${call.method} ${path} answered ${response.status}: ${body}`
    if (call.status === undefined ? !response.ok : response.status !== call.status) throw new Error(told)
    this.operations ??= await operationsOf(this.house.url)
    const operation = this.operations.find((one) => one.method === call.method && fits(one.path, path))
    if (operation === undefined) throw new Error(`The OpenAPI document has no ${call.method} ${path}.`)
    const contentType = response.headers.get('content-type') ?? ''
    const wrong = departures(operation, { status: response.status, contentType, body })
    if (call.answer !== undefined)
      wrong.push(...unlike(jsonOfPage(this.filledIn(call.answer))[0], JSON.parse(body)))
    if (wrong.length > 0) throw new Error(`${wrong.join('\n')}\n${told}`)
    await rule.after?.(this.house, body)
  }

  private async sql(code: string): Promise<void> {
    const rule = this.ruleOf(code)
    await rule.before?.(this.house)
    await this.house.query(this.filledIn(`${rule.prelude ?? ''}${code}${rule.coda ?? ''}`))
    await rule.after?.(this.house, '')
  }

  private async json(block: Block): Promise<void> {
    const values = jsonOfPage(this.filledIn(block.code))
    if (block.schema !== undefined) {
      const wrong = await schemaMistakes(this.house.url, block.schema, values)
      if (wrong.length > 0) throw new Error(wrong.join('\n'))
      return
    }
    const { shows } = this.ruleOf(block.code)
    if (shows === undefined && !block.answer)
      throw new Error('Say what this is: <!-- answer -->, <!-- schema: … --> or a rule in pages.ts')
    const real: unknown = shows === undefined ? JSON.parse(this.lastOutput) : await shows(this.house)
    const wrong = unlike(values[0], real)
    if (wrong.length > 0) throw new Error(`${wrong.join('\n')}\nin ${JSON.stringify(real)}`)
  }

  /** The same example is proved against the engine and an oracle elsewhere; here a server is asked, as a reader would. */
  private async ticks({ page, line }: Block): Promise<void> {
    const example = examplesOf(new URL(page, `file://${root}`)).find((one) => one.line === line)
    if (example === undefined) throw new Error('It is not read as an example.')
    const source: Record<string, unknown> = { ...example.source }
    delete source['anchor']
    const from = new Date(example.after).toISOString()
    const response = await fetch(`${this.house.url}/api/v1/preview`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...source, from, count: example.ticks.length + Number(example.ends) }),
    })
    const { ticks = [], ...more } = (await response.json()) as { ticks?: { at: string }[] }
    const found = ticks.map(({ at }) => Date.parse(at))
    if (JSON.stringify(found) !== JSON.stringify(example.ticks.map(({ at }) => at)))
      throw new Error(`The server previews ${JSON.stringify(ticks)} ${JSON.stringify(more)}`)
  }
}

/** It ended without asking: its exit code and what it printed say why. */
const noQuestion = () => undefined

function fits(documented: string, called: string): boolean {
  const [path = ''] = called.split('?')
  const pattern = documented.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${pattern}$`).test(path)
}
