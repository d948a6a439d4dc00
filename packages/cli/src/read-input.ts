import { readFile } from 'node:fs/promises'
import { visible } from './output/visible.js'
import { UsageError } from './usage.js'

/** The text of a file, or of stdin where the path is "-". */
export async function readInput(path: string): Promise<string> {
  const bytes = path === '-' ? await readStdin() : await readNamed(path)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UsageError(`${path === '-' ? 'What came on stdin' : visible(path)} is not UTF-8 text.`)
  }
}

async function readNamed(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot read ${visible(path)}: ${why}`)
  }
}

async function readStdin(): Promise<Buffer> {
  if (process.stdin.isTTY) process.stderr.write('Reading JSON from the terminal; end it with Ctrl-D.\n')
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
