import type { CommandTarget } from '@carillon/contract'
import { commandProblems } from './check-command.js'
import type { IsTraced } from './signing.js'
import { commandEnvironment, type Environment, payloadText } from './command-environment.js'
import { type Command, CommandProcess, type Exit, StartError } from './command-process.js'
import { cancelledBecause, type Ending, seconds, withinDeadline } from './deadline.js'
import { OutputTail } from './output-tail.js'
import { capText, storableText } from './storable.js'
import type { StopSwitch } from './stop-switch.js'
import type { Attempt, FailureReason, Outcome, Target } from './target.js'

export interface CommandTargetOptions {
  /** Whether this worker runs commands at all. */
  allowed: boolean
  /** The worker's environment; of it only PATH, HOME, LANG and TZ are passed on. */
  inherited: Environment
  /** How long after SIGTERM a command may clean up before SIGKILL. */
  graceMs?: number
  isTraced?: IsTraced
}

const outputBytes = 4_096
const lineInErrorBytes = 500
const nameInErrorBytes = 200
const errorBytes = 4_096

/** Another try cannot help: the definition itself is at fault. */
const hopeless = new Set(['E2BIG', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE', 'ERR_INVALID_ARG_TYPE'])

/** Runs commands as processes of this machine, each attempt in a process group of its own. */
export function createCommandTarget(options: CommandTargetOptions): Target<CommandTarget> {
  const { allowed, inherited, graceMs = 5_000, isTraced } = options
  const running = new Set<CommandProcess>()
  const killAll = () => {
    for (const command of running) command.kill()
  }
  // Whatever ends this process, a second signal or a fault: commands are in sessions of their own and would go on.
  process.once('exit', killAll)

  async function run(target: CommandTarget, attempt: Attempt, stop: StopSwitch): Promise<Outcome> {
    const output = new OutputTail(outputBytes)
    const command = new CommandProcess(commandOf(target, attempt, inherited, isTraced), output)
    running.add(command)
    try {
      const ending = await withinDeadline(() => command.over, attempt.timeoutMs, stop)
      const exitedBefore = command.exited
      // Waited for, so that the next attempt does not meet this one.
      if (ending.kind !== 'finished') await command.terminate(graceMs)
      return conclude({ ending, target, attempt, output, exitedBefore, exited: command.exited })
    } finally {
      running.delete(command)
    }
  }

  return {
    type: 'command',
    async deliver(target, attempt, stop) {
      if (!allowed) return failed('unserved', notAllowed, false)
      const [problem] = commandProblems(target)
      if (problem !== undefined) {
        return failed('invalid_target', `${problem.message} (${problem.pointer})`, false)
      }
      if (stop.stopped) return failed('cancelled', cancelledBecause(stop.reason), true)
      try {
        return await run(target, attempt, stop)
      } catch (error) {
        if (error instanceof StartError) return notStarted(nameOf(target), error)
        throw error
      }
    },
    close() {
      killAll()
      process.off('exit', killAll)
      return Promise.resolve()
    },
  }
}

const notAllowed =
  'This worker does not run commands. Start workers that may with --allow-commands, and only on machines where ' +
  'everybody who may register jobs may also run programs.'

function commandOf(
  target: CommandTarget,
  attempt: Attempt,
  inherited: Environment,
  isTraced: IsTraced | undefined,
): Command {
  const [program = '', ...rest] = target.argv ?? ['/bin/sh', '-c', target.shell ?? '']
  return {
    program,
    arguments: rest,
    env: commandEnvironment(inherited, target, attempt, isTraced),
    ...(target.cwd !== undefined && { cwd: target.cwd }),
    input: payloadText(attempt),
  }
}

interface Finished {
  ending: Ending<Exit>
  target: CommandTarget
  attempt: Attempt
  output: OutputTail
  /** How the command had ended when the time was up: what it had started may go on. */
  exitedBefore: Exit | null
  exited: Exit | null
}

function conclude({ ending, target, attempt, output, exitedBefore, exited }: Finished): Outcome {
  const name = nameOf(target)
  const leftover = exitedBefore === null ? '' : ' (the command itself was, but not what it had started)'
  switch (ending.kind) {
    case 'threw':
      throw ending.error
    case 'finished':
      return exitOutcome(target, ending.value, output)
    case 'cancelled':
      return failed('cancelled', `${name}: ${cancelledBecause(ending.cause)}`, true, resultOf(exited, output))
    case 'timeout':
      return failed(
        'timeout',
        `${name}: not done within ${seconds(attempt.timeoutMs)}${leftover}; it was ended${lastLine(output)}`,
        true,
        resultOf(exited, output),
      )
  }
}

function exitOutcome(target: CommandTarget, exit: Exit, output: OutputTail): Outcome {
  const result = resultOf(exit, output)
  if (exit.code === null) {
    const why = `was ended by ${exit.signal ?? 'a signal'}, which Carillon did not send`
    return failed('command_signal', `${nameOf(target)} ${why}${lastLine(output)}`, true, result)
  }
  if ((target.success_exit_codes ?? [0]).includes(exit.code)) return { kind: 'success', result }
  const why = `ended with exit code ${exit.code}`
  return failed('command_exit', `${nameOf(target)} ${why}${lastLine(output)}`, true, result)
}

function resultOf(exit: Exit | null, output: OutputTail) {
  return {
    exit_code: exit?.code ?? null,
    signal: exit?.signal ?? null,
    output: output.text,
    ...(output.truncated && { truncated: true }),
  }
}

function notStarted(name: string, { code, message }: StartError): Outcome {
  const hint =
    code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR'
      ? '. Check that the program and the working folder exist on this worker, and that its user may use them'
      : ''
  return failed('command_start', `${name} could not be started: ${message}${hint}`, !hopeless.has(code))
}

/** The program only: arguments may hold secrets. */
function nameOf({ argv }: CommandTarget): string {
  return capText(argv?.[0] ?? 'the shell line', nameInErrorBytes)
}

/** People look for the reason at the end of what a command wrote. */
function lastLine(output: OutputTail): string {
  const line = output.text.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return line === '' ? '' : `: ${capText(line, lineInErrorBytes)}`
}

function failed(reason: FailureReason, error: string, retryable: boolean, result?: unknown): Outcome {
  return {
    kind: 'failed',
    reason,
    error: capText(storableText(error), errorBytes),
    retryable,
    ...(result !== undefined && { result }),
  }
}
