import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { exitCodeOf, explainFailure } from '../../src/failure.js'
import { makeProgram } from '../../src/program.js'

export interface Asked {
  route: string
  query: URLSearchParams
  body: unknown
}

export interface Said {
  stdout: string
  stderr: string
  code: number
}

/** What is answered to `GET /jobs` and the like, below /api/v1; a function sees what was asked. */
export type Answers = Record<string, unknown>

/** A server of canned answers, and commands that ask it inside this process. */
export async function fakeApi() {
  const seen: Asked[] = []
  let answers: Answers = {}
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
      const asked: Asked = {
        route: `${request.method} ${pathname.replace('/api/v1', '')}`,
        query: searchParams,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      }
      seen.push(asked)
      const known = answers[asked.route]
      const answer = typeof known === 'function' ? (known as (asked: Asked) => unknown)(asked) : known
      response.writeHead(answer === undefined ? 404 : 200, {
        'content-type': typeof answer === 'string' ? 'text/event-stream' : 'application/json',
      })
      const missing = { code: 'route_not_found', detail: asked.route }
      response.end(typeof answer === 'string' ? answer : JSON.stringify(answer ?? missing))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    seen,
    answer(to: Answers) {
      seen.length = 0
      answers = to
    },
    speak: (...args: string[]) => speak([...args, '--url', url]),
    close: () => void server.close(),
  }
}

const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)]

/** Runs a command inside this process as main does; its exit code is its own, not that of the tests. */
export async function speak(args: readonly string[]): Promise<Said> {
  const said: Said = { stdout: '', stderr: '', code: 0 }
  const giveBack = [taken(process.stdout, (text) => (said.stdout += text))]
  giveBack.push(taken(process.stderr, (text) => (said.stderr += text)))
  const program = makeProgram()
  for (const command of all(program)) command.exitOverride()
  try {
    await program.parseAsync([...args], { from: 'user' })
    said.code = Number(process.exitCode ?? 0)
  } catch (error) {
    said.stderr += explainFailure(error) ?? ''
    said.code = exitCodeOf(error)
  } finally {
    for (const give of giveBack) give()
    process.exitCode = 0
  }
  return said
}

function taken(stream: NodeJS.WriteStream, heard: (text: string) => void): () => void {
  const write = stream.write.bind(stream)
  stream.write = ((text: string, done?: () => void) => {
    heard(text)
    if (typeof done === 'function') done()
    return true
  }) as typeof write
  return () => {
    stream.write = write
  }
}
