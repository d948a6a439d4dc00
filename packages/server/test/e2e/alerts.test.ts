import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { useDatabases } from './support/databases.js'
import { Sink } from './support/sink.js'

const soon = {
  CARILLON_ALERT_EVERY_SECONDS: '0.2',
  CARILLON_ALERT_RESOLVE_DELAY_SECONDS: '0',
  CARILLON_ALERT_RESEND_SECONDS: '2',
  CARILLON_MIN_INTERVAL_SECONDS: '1',
}

const noAlertmanager = !isInstalled('prometheus-alertmanager')
if (noAlertmanager)
  console.warn(
    'SKIPPED: prometheus-alertmanager is not installed; node scripts/install-parts.mjs installs it.',
  )

function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('alerts on the wire', () => {
  const folder = temporaryFolder()
  const started: Carillon[] = []
  const programs: ChildProcess[] = []
  afterAll(() => folder.remove())
  const databaseOf = useDatabases(folder.path)
  const sinks: Sink[] = []

  async function up(url: string, args: string[] = [], env: Record<string, string> = {}): Promise<Carillon> {
    const carillon = await Carillon.up({ args, env: { DATABASE_URL: url, ...soon, ...env } })
    started.push(carillon)
    return carillon
  }

  async function listen(): Promise<Sink> {
    const sink = await Sink.listen()
    sinks.push(sink)
    return sink
  }

  afterEach(async () => {
    await Promise.all(started.splice(0).map((carillon) => carillon.killHard()))
    for (const program of programs.splice(0)) program.kill('SIGKILL')
    await Promise.all(sinks.splice(0).map((sink) => sink.close()))
  })

  /** A job whose every run dies, and of which an alert is raised by the first. */
  async function dyingJob({ client, url }: Carillon, name: string) {
    await client.alertRules.create({ kind: 'failed_in_row', params: { times: 1 } })
    await client.alertRules.create({ kind: 'dead_letter', enabled: false })
    const target = { type: 'http' as const, url: `${url}/nowhere` }
    const job = await client.jobs.create({ name, schedule: '@daily', target, max_retries: 0 })
    await client.jobs.trigger(job.job_id)
    return job
  }

  async function startAlertmanager(): Promise<string> {
    const port = await freePort()
    const config = join(folder.path, 'alertmanager.yml')
    writeFileSync(config, 'route:\n  receiver: none\nreceivers:\n  - name: none\n')
    const program = spawn(
      'prometheus-alertmanager',
      [
        `--config.file=${config}`,
        `--storage.path=${join(folder.path, 'alertmanager')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--cluster.listen-address=',
      ],
      { stdio: 'ignore' },
    )
    programs.push(program)
    const url = `http://127.0.0.1:${port}`
    await until('Alertmanager is ready', async () => {
      const answer = await fetch(`${url}/-/ready`).catch(() => null)
      return answer?.ok === true
    })
    return url
  }

  interface Known {
    labels: Record<string, string>
    annotations: Record<string, string>
    status: { state: string }
    endsAt: string
  }
  const knownTo = async (alertmanager: string, name: string): Promise<Known[]> => {
    const filter = encodeURIComponent(`alertname="${name}"`)
    const answer = await fetch(`${alertmanager}/api/v2/alerts?filter=${filter}`)
    return (await answer.json()) as Known[]
  }

  test.skipIf(noAlertmanager && process.env['CARILLON_REQUIRE_ALL'] !== '1')(
    'reach a real Alertmanager, stay there while they go on, and are over there when they are over here',
    async () => {
      const alertmanager = await startAlertmanager()
      const carillon = await up(await databaseOf('alertmanager'))
      const { client } = carillon
      await client.alertChannels.create({ name: 'am', type: 'alertmanager', url: alertmanager })
      const job = await dyingJob(carillon, 'nightly')
      const [known] = await until('Alertmanager knows it', async () => {
        const found = await knownTo(alertmanager, 'failed_in_row')
        return found.length > 0 && found
      })
      expect(known).toMatchObject({
        labels: {
          severity: 'warning',
          service: 'carillon',
          tenant: 'default',
          job_name: 'nightly',
          job_id: job.job_id,
        },
        annotations: { summary: 'nightly failed 1 times in a row' },
        status: { state: 'active' },
      })
      await until('it is told again', async () => {
        const [again] = await knownTo(alertmanager, 'failed_in_row')
        return again !== undefined && Date.parse(again.endsAt) > Date.parse(known?.endsAt ?? '')
      })
      await client.jobs.edit(job.job_id, {
        target: { type: 'http', url: `${carillon.url}/healthz`, method: 'GET' },
      })
      await client.jobs.trigger(job.job_id)
      await until('it is over there', async () => (await knownTo(alertmanager, 'failed_in_row')).length === 0)
      const { data } = await client.alerts.list({ state: 'resolved', kind: 'failed_in_row' })
      expect(data).toMatchObject([{ job_id: job.job_id, resolved_by: null }])
    },
    120_000,
  )

  test('are sent again after a kill -9 between the sending and the record of it, under the same id, signed', async () => {
    const url = await databaseOf('killed')
    const sink = await listen()
    const first = await up(url)
    await first.client.alertChannels.create({ name: 'hook', type: 'webhook', url: `${sink.url}/secret-path` })
    sink.answer = async () => {
      // It was sent; the answer never comes to a process that could note it.
      if (sink.deliveries.length === 1) await first.killHard()
      return 200
    }
    await dyingJob(first, 'nightly')
    await until('it was sent', () => sink.deliveries.length === 1)
    const second = await up(url)
    const [one, two] = await until('it was sent again', () => sink.deliveries.length === 2 && sink.deliveries)
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id'])
    const { secret } = await second.client.signingSecrets.current()
    const headers = Object.fromEntries(
      Object.entries(two?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    expect(new Webhook(secret).verify(two?.raw ?? '', headers)).toMatchObject({
      specversion: '1.0',
      type: 'dev.carillon.alert.firing',
      data: { kind: 'failed_in_row', job_name: 'nightly', state: 'firing' },
    })
    const shown = JSON.stringify(await second.client.alertChannels.list())
    expect(shown).not.toContain('secret-path')
    expect(first.stderr + second.stderr).not.toContain('secret-path')
  }, 120_000)

  test('say that no scheduler is alive, by a process that has only the api, or only workers; the dead-man ping has stopped', async () => {
    const url = await databaseOf('alone')
    const [hook, monitor] = [await listen(), await listen()]
    const deadMan = { CARILLON_DEAD_MAN_URL: `${monitor.url}/ping`, CARILLON_DEAD_MAN_SECONDS: '1' }
    // Any process may be the one that tells; only one that serves the API on loopback may call loopback unasked.
    const allowed = { ...deadMan, CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8' }
    const api = await up(url, ['--role', 'api'], allowed)
    // The channel first: once the rule is there the alert may be raised at once, and is told to the channels that there are.
    await api.client.alertChannels.create({ name: 'hook', type: 'webhook', url: hook.url })
    await api.client.alertRules.create({ kind: 'no_scheduler', params: { seconds: 5 } })
    const saysSo = () =>
      hook.deliveries.filter(({ body }) => body['type'] === 'dev.carillon.alert.firing').length
    // At least once: it may be told twice.
    await until('it is told by the api alone', () => saysSo() >= 1)
    expect(monitor.deliveries).toEqual([])
    const scheduler = await up(url, ['--role', 'scheduler'], allowed)
    await until('it is over', () =>
      hook.deliveries.some(({ body }) => body['type'] === 'dev.carillon.alert.resolved'),
    )
    await until('the monitor is called', () => monitor.deliveries.length >= 2)
    await api.killHard()
    await up(url, ['--role', 'worker'], allowed)
    const before = saysSo()
    await scheduler.killHard()
    await until('it is told by the worker alone', () => saysSo() > before)
    const calls = monitor.deliveries.length
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(monitor.deliveries.length).toBe(calls)
  }, 120_000)
})
