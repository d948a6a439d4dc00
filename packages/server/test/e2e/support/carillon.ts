import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, createClient } from '@carillon/sdk'

const command = fileURLToPath(new URL('../../../../cli/bin/carillon.js', import.meta.url))

export interface CarillonOptions {
  dataDir?: string
  args?: string[]
  env?: Record<string, string>
}

/** A real `carillon up` process, as a person would start it. */
export class Carillon {
  private readonly exited: Promise<number | null>
  stderr = ''

  private constructor(
    readonly child: ChildProcess,
    readonly url: string,
    readonly client: Client,
  ) {
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  }

  static async up(options: CarillonOptions): Promise<Carillon> {
    const flags = ['up', '--json', '--port', '0', ...(options.args ?? [])]
    if (options.dataDir !== undefined) flags.push('--data-dir', options.dataDir)
    const child = spawn(process.execPath, [command, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...environment(), CARILLON_LOG_FORMAT: 'pretty', ...options.env },
    })
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    const ready = await firstLine(child, () => stderr)
    const { url } = JSON.parse(ready) as { url: string }
    const carillon = new Carillon(child, url, createClient({ url }))
    child.stderr.on('data', () => {
      carillon.stderr = stderr
    })
    carillon.stderr = stderr
    return carillon
  }

  get pid(): number {
    return this.child.pid as number
  }

  /** As a deploy does it. Answers the exit code. */
  terminate(): Promise<number | null> {
    this.child.kill('SIGTERM')
    return this.exited
  }

  /** As a power cut does it: nothing is said to anybody. */
  async killHard(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill('SIGKILL')
    await this.exited
  }
}

/** Our own settings must not leak into the processes under test, nor a database of the one who runs the tests. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON_') && name !== 'DATABASE_URL'),
  )
}

async function firstLine(child: ChildProcess, stderr: () => string): Promise<string> {
  let text = ''
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`carillon up ended with ${String(code)} before it was ready:\n${stderr()}`)
  })
  const line = (async () => {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      text += chunk.toString()
      const end = text.indexOf('\n')
      if (end !== -1) return text.slice(0, end)
    }
    return failed
  })()
  return Promise.race([line, failed])
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'carillon-e2e-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Looks until it holds. The bound is generous: a test that waits for a thing to happen must not judge its speed. */
export async function until<Result>(
  what: string,
  look: () => Promise<Result | false | undefined> | Result | false | undefined,
  withinMs = 60_000,
): Promise<Result> {
  const end = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== false && found !== undefined) return found
    if (performance.now() > end) throw new Error(`Not within ${withinMs / 1000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
