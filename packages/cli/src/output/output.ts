import type { Command } from 'commander'
import { type Look, lookOf } from './look.js'
import { jsonLine } from './visible.js'

/** Where a command's result and its remarks go. */
export interface Output {
  readonly json: boolean
  readonly look: Look
  /** The result: one line of JSON with --json, what `render` makes of it otherwise. */
  result(value: unknown, render: () => string): void
  /** A part of the result that is shown ahead of it; never with --json. */
  text(text: string): void
  /** One line of a result that has no end: written as it is, also with --json. */
  line(text: string): void
  /** A remark for the person, apart from the result. */
  note(text: string): void
  /** Resolves when the result has left the process. */
  flushed(): Promise<void>
}

type Write = (text: string, done?: () => void) => boolean

export function withJson(command: Command): Command {
  return command.option('--json', 'print the result as one line of JSON; everything else goes to stderr')
}

/**
 * With --json, stdout belongs to the result alone. Code of others may run in this process (a task file, which may
 * well print), so whatever else is written to stdout goes to stderr.
 */
export function outputOf(command: Command): Output {
  const json = command.opts<{ json?: boolean }>().json ?? false
  const write = process.stdout.write.bind(process.stdout) as Write
  if (json) process.stdout.write = process.stderr.write.bind(process.stderr)
  const look = lookOf(process.stdout)
  return {
    json,
    look,
    result: (value, render) => void write(json ? jsonLine(value) : render()),
    text: (text) => void (json || write(text)),
    line: (text) => void write(text),
    note: (text) => void process.stderr.write(`${text}\n`),
    flushed: () => new Promise((resolve) => write('', () => resolve())),
  }
}

/** Whoever reads our output may leave early (`| head`): the rest is written to nobody, which is no failure. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error
    })
  }
}
