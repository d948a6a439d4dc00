import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { useDatabases } from './support/databases.js'

const folder = temporaryFolder()
const databaseOf = useDatabases(folder.path)
afterAll(() => folder.remove())

/** A login of its own, whose password is in the URL. */
async function withPassword(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("CREATE ROLE canary_login LOGIN SUPERUSER PASSWORD 'canary-password'")
  await client.end()
  return Object.assign(new URL(url), { username: 'canary_login', password: 'canary-password' }).href
}

test('no secret stands in logs, errors or answers, wherever it was put', async () => {
  const url = await withPassword(await databaseOf('secrets'))
  const carillon = await Carillon.up({
    env: {
      ...{ DATABASE_URL: url, CARILLON_LOG_LEVEL: 'trace', CARILLON_LOG_FORMAT: 'json' },
      ...{ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-collector' },
      CARILLON_STATEMENT_TIMEOUT_MS: '1000',
    },
  })
  const answers: string[] = []
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${carillon.url}${path}`, init)
    answers.push(`${answer.status} ${await answer.text()}`)
    return answer.status
  }
  const key = `car_${'canary'.repeat(8).slice(0, 43)}`
  // Where a key belongs, and where it does not.
  expect(await ask('/api/v1/jobs', { headers: { authorization: `Bearer ${key}` } })).toBe(401)
  expect(await ask('/api/v1/jobs', { headers: { authorization: 'Basic Y2FuYXJ5OmNhbmFyeQ==' } })).toBe(401)
  await ask(`/api/v1/jobs?limit=1&search=x&token=canary-query`)
  await ask(`/api/v1/nowhere`, { headers: { 'x-request-id': key } })
  // A delivery that fails: to a URL with secrets in it.
  const hostile = 'name\n{"level":60,"msg":"forged"}\u001b[2J'
  const job = await carillon.client.jobs.create({
    ...{ name: hostile, schedule: new Date().toISOString(), max_retries: 0 },
    target: { type: 'http', url: 'http://127.0.0.1:1/hook?api_key=canary-target' },
  })
  const [run] = await until('it died', async () => {
    const runs = await carillon.client.jobs.runs(job.job_id)
    return runs[0]?.status === 'dead' && runs
  })
  answers.push(JSON.stringify(run), await (await fetch(`${carillon.url}/metrics`)).text())
  answers.push(
    JSON.stringify(await carillon.client.status()),
    JSON.stringify(await carillon.client.cluster()),
  )
  // A database that breaks off, with the URL at hand.
  const admin = new pg.Client({ connectionString: await databaseOf('secrets') })
  await admin.connect()
  await admin.query('ALTER ROLE canary_login NOLOGIN')
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'canary_login'")
  await until('it notices', async () => (await carillon.client.status()).state === 'down')
  await ask('/api/v1/jobs')
  await admin.query('ALTER ROLE canary_login LOGIN')
  await admin.end()
  await until('it is back', async () => (await carillon.client.status()).state !== 'down')
  const log = () => carillon.stderr
  await until('it has told', () => log().includes('loop failed'))
  await carillon.terminate()

  const lines = log().trimEnd().split('\n')
  expect(lines.filter((line) => /canary(?!_login)|Y2FuYXJ5/.test(line))).toEqual([])
  expect(answers.filter((answer) => /canary|Y2FuYXJ5/.test(answer))).toEqual([])
  // A line is an object, and nobody else's words make one of their own.
  const objects = lines.filter((line) => line.startsWith('{'))
  expect(lines.filter((line) => !line.startsWith('{') && line.includes('forged'))).toEqual([])
  const parsed = objects.map(
    (line) => JSON.parse(line) as { level: number; request_id?: string; job?: string },
  )
  expect(parsed.some(({ level }) => level === 60)).toBe(false)
  expect(parsed.some(({ request_id: id }) => typeof id === 'string')).toBe(true)
  expect(parsed.some((line) => line.job === job.job_id && 'run' in line)).toBe(true)
  expect(log()).not.toContain('\u001b')
})
