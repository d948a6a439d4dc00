import { type ChildProcess, spawn } from 'node:child_process'
import type { OutputTail } from './output-tail.js'

export interface Command {
  program: string
  arguments: readonly string[]
  env: Readonly<Record<string, string>>
  cwd?: string
  /** Written to its standard input. */
  input: string
}

/** How a process ended: with a code, or by a signal. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** The process could not be started; `code` is the system's word, e.g. ENOENT. */
export class StartError extends Error {
  override readonly name = 'StartError'

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

/** How long after SIGKILL its last output is waited for: a process that left the group may hold the pipe for ever. */
const lastOutputMs = 1_000

/**
 * A command in a process group of its own, so that what it starts can be ended with it. It is over when the command has
 * ended and nobody holds its output any more: children that still write belong to the run, as cron has it.
 */
export class CommandProcess {
  private readonly child: ChildProcess
  private exit: Exit | null = null
  /** Rejects with a StartError. */
  readonly over: Promise<Exit>

  constructor(command: Command, output: OutputTail) {
    this.child = start(command)
    const { child } = this
    this.over = new Promise((resolve, reject) => {
      child.on('error', (error: NodeJS.ErrnoException) => {
        // Also a kill that failed is told here; only before there is a process it means that none was started.
        if (child.pid === undefined) reject(new StartError(error.code ?? error.name, error.message))
      })
      child.on('exit', (code, signal) => {
        this.exit = { code, signal }
      })
      child.on('close', (code, signal) => resolve({ code, signal }))
    })
    // Whoever waits hears of it; until then it is not an unhandled one.
    this.over.catch(() => {})
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => output.add(chunk)).on('error', () => {})
    }
    // A command need not read its input: a pipe that it closed is no fault.
    child.stdin?.on('error', () => {}).end(command.input)
  }

  /** How the command itself ended, although something it started may still hold its output. */
  get exited(): Exit | null {
    return this.exit
  }

  /** Asks the whole group to end, and after `graceMs` ends it. Settles when it is gone, or cannot be got rid of. */
  async terminate(graceMs: number): Promise<void> {
    this.signal('SIGTERM')
    if (await this.overWithin(graceMs)) {
      // The command obeyed; a child of it that does not hold the output may not have.
      this.signal('SIGKILL')
      return
    }
    this.kill()
    if (await this.overWithin(lastOutputMs)) return
    for (const stream of [this.child.stdin, this.child.stdout, this.child.stderr]) stream?.destroy()
  }

  /** Ends the whole group at once. */
  kill(): void {
    this.signal('SIGKILL')
  }

  private signal(name: NodeJS.Signals): void {
    const { pid } = this.child
    if (pid === undefined) return
    try {
      process.kill(-pid, name)
    } catch {
      // No such group any more; or a system without groups, where the process alone can be reached.
      if (this.exit === null) this.child.kill(name)
    }
  }

  private overWithin(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms)
      const ended = () => {
        clearTimeout(timer)
        resolve(true)
      }
      this.over.then(ended, ended)
    })
  }
}

function start(command: Command): ChildProcess {
  try {
    return spawn(command.program, command.arguments, {
      env: command.env,
      ...(command.cwd !== undefined && { cwd: command.cwd }),
      // A session and group of its own: signals for the worker do not reach it, and ours reach its children.
      detached: true,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new StartError(code, error instanceof Error ? error.message : String(error))
  }
}
