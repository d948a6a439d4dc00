import { createInterface } from 'node:readline/promises'
import { UsageError } from './usage.js'

/** Asks the person, unless told --yes. Where nobody can be asked, --yes is needed. */
export async function confirm(question: string, { yes = false }: { yes?: boolean }): Promise<boolean> {
  if (yes) return true
  if (!canAsk()) throw new UsageError(`Nobody can be asked here: ${question} Add --yes if that is meant.`)
  return asked(question)
}

export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

async function asked(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D close the input without an answer, and leave the cursor behind the question.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('\n')))
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), closed])
    if (answer === '\n') process.stderr.write(answer)
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
