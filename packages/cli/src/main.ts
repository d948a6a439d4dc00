import type { Command } from 'commander'
import { hintOf } from './command-hint.js'
import { exitCodeOf, explainFailure } from './failure.js'
import { failureObject, wantsJson } from './failure-json.js'
import { outliveReaders } from './output/output.js'
import { jsonLine, visibleLines } from './output/visible.js'
import { makeProgram } from './program.js'

outliveReaders()

const asJson = wantsJson(process.argv.slice(2))
const program = makeProgram()
prepare(program)

try {
  await program.parseAsync()
} catch (error) {
  const text = asJson ? jsonOf(error) : explainFailure(error)
  if (text !== null) process.stderr.write(`${text}\n`)
  process.exitCode = exitCodeOf(error)
}

function jsonOf(error: unknown): string | null {
  const object = failureObject(error)
  return object === null ? null : jsonLine(object).trimEnd()
}

/** Commands that are added, not made by their parent, inherit nothing: each gets the same manners. */
function prepare(command: Command): void {
  command
    .exitOverride()
    // With --json an error is one object, which is written where all errors end up.
    .configureOutput({
      writeErr: (text) => void (asJson || process.stderr.write(visibleLines(text))),
      outputError: (text, write) => write(command.parent === null ? withHint(text) : text),
    })
    .showHelpAfterError(`(${fullName(command)} --help says what it takes)`)
  for (const inner of command.commands) prepare(inner)
}

/** Commander knows the commands of one level; what was meant may be a level below. */
function withHint(text: string): string {
  const word = /^error: unknown command '([^']+)'\n$/.exec(text)?.[1]
  const hint = word === undefined ? null : hintOf(program, word)
  return hint === null ? text : `${text}(${hint})\n`
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`
}
