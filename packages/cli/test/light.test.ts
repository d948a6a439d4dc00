import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bin, carillon, jsonOf, newFolder, removeFolder, run } from './support/carillon.js'

const packageFile = fileURLToPath(new URL('../package.json', import.meta.url))
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
/** Nobody listens on port 1. */
const nowhere = 'http://127.0.0.1:1'

let folder: string
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => removeFolder(folder))

describe('carillon', () => {
  it('tells its version when npx starts it five times at once', async () => {
    const cwd = fileURLToPath(new URL('../../..', import.meta.url))
    const all = await Promise.all(
      Array.from({ length: 5 }, () => run('npx', ['--offline', 'carillon', '--version'], { cwd })),
    )
    for (const { code, stdout } of all) {
      expect(stdout).toBe(`${version}\n`)
      expect(code).toBe(0)
    }
  })

  it('shows help with its commands and exit codes', async () => {
    const { code, stdout, stderr } = await carillon(['--help'])
    expect(code).toBe(0)
    expect(stderr).toBe('')
    for (const word of ['up', 'jobs', 'runs', 'explain', 'config', 'doctor', 'migrate', '5 unreachable']) {
      expect(stdout).toContain(word)
    }
  })

  it.each([
    ['no command', [], 'Usage: carillon'],
    ['an unknown command', ['job'], 'Did you mean jobs?'],
    ['an unknown command below one', ['jobs', 'lst'], 'Did you mean list?'],
    ['an unknown option', ['jobs', 'list', '--al'], 'Did you mean --all?'],
    ['an option without its value', ['jobs', 'list', '--limit'], 'argument missing'],
    ['a missing argument', ['jobs', 'get'], "missing required argument 'job'"],
    ['an argument too many', ['jobs', 'get', 'a', 'b'], 'too many arguments'],
    ['a setting that is none', ['jobs', 'list', '--url', 'nowhere'], '--url is'],
    ['a limit that is no number', ['jobs', 'list', '--limit', 'ten'], '--limit is "ten"'],
    ['a limit of all and some', ['jobs', 'list', '--limit', '3', '--all'], 'not both'],
    ['a password in the URL', ['jobs', 'list', '--url', 'http://u:hunter2@h'], 'CARILLON_API_KEY'],
  ])('refuses %s as wrong usage', async (_what, args, said) => {
    const { code, stdout, stderr } = await carillon(args)
    expect(stderr).toContain(said)
    expect(stderr).not.toContain('hunter2')
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it.each([
    ['an unknown option', ['jobs', 'list', '--al'], 2, 'usage', 'Did you mean --all?'],
    ['a server that does not answer', ['jobs', 'list', '--url', nowhere], 5, 'unreachable', 'carillon up'],
    ['a code that there is not', ['explain', 'zzzz'], 3, 'not_found', 'zzzz'],
  ])('tells %s as one JSON object on stderr where --json is given', async (_what, args, exit, word, said) => {
    const { code, stdout, stderr } = await carillon([...args, '--json'])
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string; exit_code: number } }
    expect(error).toMatchObject({ code: word, exit_code: exit })
    expect(error.message).toContain(said)
    expect(stdout).toBe('')
    expect(code).toBe(exit)
  })

  it('colours on demand, and never against NO_COLOR', async () => {
    const escape = String.fromCharCode(27)
    const looks = [{ FORCE_COLOR: '1' }, { FORCE_COLOR: '1', NO_COLOR: '1' }, {}] as Record<string, string>[]
    const shown = await Promise.all(looks.map((env) => carillon(['config'], { env })))
    expect(shown.map(({ stdout }) => stdout.includes(escape))).toEqual([true, false, false])
  })

  it('makes control characters of the command line visible', async () => {
    const { stderr } = await carillon(['jobs', 'list', '--x\u001b[2J'])
    expect(stderr).toContain('--x\\u001b[2J')
    expect(stderr).not.toContain('\u001b')
  })

  it.each([
    ['--version', ['--version']],
    ['explain', ['explain', 'internal_error']],
    ['config', ['config']],
    ['jobs list', ['jobs', 'list', '--url', nowhere]],
  ])('loads nothing of the server for %s', async (_what, args) => {
    const imports = join(folder, 'imports')
    const hook = new URL('./support/record-imports.mjs', import.meta.url).href
    await run(process.execPath, ['--import', hook, bin, ...args], { env: { IMPORTS_FILE: imports } })
    const loaded = readFileSync(imports, 'utf8')
    expect(loaded).toContain('/commander/')
    expect(loaded).not.toMatch(/\/(pg|fastify|undici|pino|croner)\/|server\/dist\/(index|main)\.js/)
  })

  it.each([
    ['--help', ['--help']],
    ['explain', ['explain']],
    ['explain --json', ['explain', '--json']],
    ['config', ['config']],
    ['doctor', ['doctor', '--port', '0', '--data-dir', 'nothing-here']],
  ])('ends well when nobody reads the output of %s', async (_what, args) => {
    const script = '("$@"; echo "exit $?" >&2) | true'
    const { stderr } = await run('sh', ['-c', script, 'sh', process.execPath, bin, ...args], { cwd: folder })
    expect(stderr).toBe('exit 0\n')
  })
})

describe('carillon explain', () => {
  it('says what a code means and what to do', async () => {
    const { code, stdout } = await carillon(['explain', 'invalid_schedule'])
    expect(stdout).toMatch(/^Means +The schedule cannot be read$/m)
    expect(stdout).toMatch(/^HTTP +422$/m)
    expect(stdout).toMatch(/^What to do +Give a cron expression/m)
    expect(code).toBe(0)
  })

  it.each(['urn:carillon:error:job_not_found', 'JOB-NOT-FOUND'])('understands %s', async (given) => {
    const explained = jsonOf<{ code: string; status: number }>(await carillon(['explain', given, '--json']))
    expect(explained).toMatchObject({ code: 'job_not_found', status: 404 })
  })

  it('knows the code that the command itself gives', async () => {
    expect((await carillon(['explain', 'unexpected_answer'])).stdout).toContain('--url')
  })

  it('lists every code', async () => {
    const { data: list } = jsonOf<{ data: { code: string }[] }>(await carillon(['explain', '--json']))
    const { stdout } = await carillon(['explain'])
    expect(list.length).toBeGreaterThan(20)
    for (const { code } of list) expect(stdout).toContain(code)
  })

  it('suggests the nearest code for one that there is not', async () => {
    const { code, stdout, stderr } = await carillon(['explain', 'invalid_shedul', '--json'])
    expect(stderr).toContain('Did you mean invalid_schedule?')
    expect(stdout).toBe('')
    expect(code).toBe(3)
    expect((await carillon(['explain', 'zzzz'])).stderr).toContain('carillon explain lists')
  })
})

describe('carillon config', () => {
  const env = {
    CARILLON_PORT: '7777',
    DATABASE_URL: 'postgres://me:hunter2@db/x',
    CARILLON_API_KEY: 'hunter2',
  }

  it('shows every setting and where it came from', async () => {
    const { code, stdout } = await carillon(['config', '--host', '::1'], { env })
    expect(stdout).toMatch(/CARILLON_PORT +7777 +environment CARILLON_PORT/)
    expect(stdout).toMatch(/CARILLON_HOST +::1 +flag --host/)
    expect(stdout).toMatch(/CARILLON_URL +http:\/\/127\.0\.0\.1:7420 +default/)
    expect(stdout).not.toContain('hunter2')
    expect(code).toBe(0)
  })

  it('is one object as JSON, secrets masked', async () => {
    const ended = await carillon(['config', '--json'], { env })
    const settings = jsonOf<Record<string, { value: string; source: string }>>(ended)
    expect(settings['CARILLON_PORT']).toEqual({ value: '7777', source: 'environment CARILLON_PORT' })
    expect(settings['DATABASE_URL']?.value).toBe('postgres://me:****@db/x')
    expect(ended.stdout).not.toContain('hunter2')
  })

  it('says all that is wrong with the settings', async () => {
    const { code, stdout, stderr } = await carillon(['config', '--json', '--port', 'x'], {
      env: { CARILLON_PROT: '1' },
    })
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
    expect(error.code).toBe('usage')
    expect(error.message).toContain('did you mean CARILLON_PORT?')
    expect(error.message).toContain('--port is "x"')
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })
})

describe('a server that does not answer', () => {
  it.each([
    ['jobs', 'list'],
    ['jobs', 'get', 'a'],
    ['jobs', 'create', 'a', '--schedule', '@every 5m'],
    ['jobs', 'delete', 'a', '--yes'],
    ['runs', 'list', 'a'],
  ])('is named by %s %s, with the way to start one', async (...args) => {
    const { code, stdout, stderr } = await carillon([...args, '--json'], { env: { CARILLON_URL: nowhere } })
    expect(stderr).toContain(nowhere)
    expect(stderr).toContain('carillon up')
    expect(stdout).toBe('')
    expect(code).toBe(5)
  })

  it('is told apart from something else that answers there', async () => {
    const stranger = createServer((_request, response) => response.writeHead(404).end('<h1>Not here</h1>'))
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = stranger.address() as AddressInfo
      const { code, stderr } = await carillon(['jobs', 'get', 'a', '--url', `http://127.0.0.1:${port}`])
      expect(stderr).toContain('unexpected_answer')
      expect(code).toBe(5)
    } finally {
      stranger.close()
    }
  })
})
