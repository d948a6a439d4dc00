import { mkdtempSync, readFileSync, copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { metricsOfNode } from '../../src/platform/metrics.js'
import { describeMetrics } from '../../src/platform/metrics-page.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { exposedBy, metricsIn } from './support/expressions.js'
import { hasProgram, runProgram } from './support/program.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const tasks = fileURLToPath(new URL('./support/tasks.mjs', import.meta.url))
const file = (path: string) => join(root, path)
const read = (path: string) => readFileSync(file(path), 'utf8')

const folder = temporaryFolder()
let carillon: Carillon
/** What a server says that has fired, run, failed and answered. */
let text: string

beforeAll(async () => {
  const env = { CARILLON_MIN_INTERVAL_SECONDS: '1', CARILLON_MAX_MONITORED_JOBS: '1' }
  carillon = await Carillon.up({ dataDir: join(folder.path, 'data'), args: ['--tasks', tasks], env })
  const { jobs } = carillon.client
  const monitored = await jobs.create({
    ...{ name: 'watched "job"\n', schedule: '* * * * * *', tags: ['monitor'] },
    ...{ target: { type: 'task', task: 'note' }, payload: { file: join(folder.path, 'noted') } },
  })
  const failing = await jobs.create({
    ...{ name: 'failing', schedule: '* * * * * *', max_retries: 0, tags: ['monitor'] },
    target: { type: 'http', url: 'http://127.0.0.1:1/' },
  })
  text = await until('the numbers have come about', async () => {
    const answer = await (await fetch(`${carillon.url}/metrics`)).text()
    const has = (line: RegExp) => line.test(answer)
    const sampled = has(/^carillon_dead_letters [1-9]/m)
    const ran = has(/^carillon_attempts_total\{outcome="success"\} [1-9]/m)
    const refused = has(/^carillon_jobs_unmonitored_total [1-9]/m)
    return sampled && ran && refused ? answer : undefined
  })
  for (const { job_id: jobId } of [monitored, failing]) await jobs.pause(jobId)
})
afterAll(async () => {
  await carillon?.terminate()
  folder.remove()
})

function valueOf(series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  if (line === undefined) throw new Error(`There is no ${series}.`)
  return Number(line.slice(series.length + 1))
}

describe('the metrics of a real server', () => {
  test('are those that the reference names, no more and no less', () => {
    const exposed = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
    const ours = exposed.filter((name) => !metricsOfNode.some((prefix) => name.startsWith(prefix)))
    const documented = [...read('docs/reference/metrics.md').matchAll(/^\| `(carillon_\w+)` \|/gm)]
    expect(ours.sort()).toEqual(documented.map(([, name = '']) => name).sort())
    expect(describeMetrics()).toHaveLength(ours.length)
  })

  test('say what became of ticks, runs, leases and batches', () => {
    expect(valueOf('carillon_ticks_total{decision="fired"}')).toBeGreaterThan(0)
    expect(valueOf('carillon_fire_lateness_seconds_count')).toBeGreaterThan(0)
    expect(valueOf('carillon_start_lag_seconds_count')).toBeGreaterThan(0)
    expect(valueOf('carillon_run_duration_seconds_count')).toBeGreaterThan(0)
    expect(valueOf('carillon_attempts_total{outcome="dead"}')).toBeGreaterThan(0)
    expect(valueOf('carillon_partitions_owned')).toBe(256)
    // As long as its worker leases ahead, which gets the runs at once.
    expect(valueOf('carillon_stage_ahead_seconds')).toBe(1)
    expect(valueOf('carillon_partitions_unowned')).toBe(0)
    expect(valueOf('carillon_nodes_alive{role="scheduler"}')).toBe(1)
    for (const stage of ['fire', 'record', 'register'])
      expect(valueOf(`carillon_stage_batch_size_count{stage="${stage}"}`)).toBeGreaterThan(0)
    for (const stage of ['fire', 'queue', 'record', 'register', 'recover', 'cluster', 'monitor'])
      expect(valueOf(`carillon_statement_seconds_count{stage="${stage}"}`)).toBeGreaterThan(0)
    for (const pool of ['fleet', 'ticks', 'api', 'effects', 'tasks'])
      expect(valueOf(`carillon_pool_waiting{pool="${pool}"}`)).toBeGreaterThanOrEqual(0)
    expect(valueOf('carillon_http_requests_total{operation="createJob",code="2xx"}')).toBe(2)
    expect(valueOf('carillon_heartbeat_age_seconds')).toBeLessThan(60)
    expect(valueOf('carillon_nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  })

  test('name no job, run or tenant, but the one job that there was room for', () => {
    const named = text.split('\n').filter((line) => /job_[0-9a-z]{26}|run_[0-9a-z]{20}|tenant/.test(line))
    expect(named.filter((line) => !line.startsWith('carillon_job_'))).toEqual([])
    expect(new Set(named.map((line) => /job_id="([^"]*)"/.exec(line)?.[1])).size).toBe(1)
    // Few enough to be kept for ever.
    expect(text.split('\n').filter((line) => !line.startsWith('#')).length).toBeLessThan(1_500)
  })

  test.runIf(hasProgram('promtool', 'prometheus'))('are what Prometheus reads and recommends', () => {
    const { status, said } = runProgram('promtool', ['check', 'metrics'], text)
    // What the client library itself says of Node is its own affair.
    const ours = said.split('\n').filter((line) => line !== '' && !/^carillon_(nodejs|process)_/.test(line))
    expect(ours).toEqual([])
    expect([0, 3]).toContain(status)
  })
})

describe('the dashboard', () => {
  const dashboard = JSON.parse(read('deploy/grafana/carillon.json')) as {
    panels: { title: string; description?: string; targets?: { expr: string }[] }[]
    templating: { list: { query: string }[] }
  }
  const expressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr })),
  )

  test('asks for nothing that a server does not say', () => {
    const exposed = exposedBy(text)
    const recorded = new Set(rulesOf().flatMap(({ record }) => record ?? []))
    const asked = [
      ...expressions,
      ...dashboard.templating.list.map(({ query }) => ({ title: 'variable', expr: query })),
    ]
    const unknown = asked.flatMap(({ title, expr }) =>
      metricsIn(expr)
        .filter((name) => !exposed.has(name) && !recorded.has(name))
        .map((name) => `${title}: ${name}`),
    )
    expect(expressions.length).toBeGreaterThan(30)
    expect(unknown).toEqual([])
  })

  test.runIf(hasProgram('promtool', 'prometheus'))('has expressions that Prometheus understands', () => {
    const rules = expressions.map(({ expr }, at) => ({
      record: `panel:${at}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
    const rulesFile = join(folder.path, 'panels.yml')
    writeFileSync(rulesFile, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
    expect(runProgram('promtool', ['check', 'rules', rulesFile])).toMatchObject({ status: 0 })
  })

  test('names runbooks that are there', () => {
    const named = dashboard.panels.flatMap(
      ({ description = '' }) => /Runbook: (\S+)/.exec(description)?.[1] ?? [],
    )
    expect(named.length).toBeGreaterThan(3)
    for (const name of named) expect(read(`docs/operate/runbooks/${name}.md`)).toContain('# Carillon')
  })
})

interface Rule {
  alert?: string
  record?: string
  expr: string
  annotations?: Record<string, string>
  labels?: Record<string, string>
}

function rulesOf(): Rule[] {
  const { groups } = parse(read('deploy/prometheus/carillon.rules.yml')) as { groups: { rules: Rule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}

describe('the alert rules', () => {
  test('ask for nothing that a server does not say', () => {
    const exposed = exposedBy(text)
    const recorded = new Set(rulesOf().flatMap(({ record }) => record ?? []))
    const unknown = rulesOf().flatMap(({ expr }) =>
      metricsIn(expr).filter((name) => !exposed.has(name) && !recorded.has(name)),
    )
    expect(unknown).toEqual([])
  })

  test('scaling examples do not either', () => {
    const exposed = exposedBy(text)
    for (const path of [
      'deploy/scaling/keda-worker.example.yaml',
      'deploy/scaling/hpa-worker.example.yaml',
    ]) {
      const named = metricsIn(read(path)).filter((name) => name !== 'carillon_queue_depth')
      expect(named.length).toBeGreaterThan(0)
      expect(named.filter((name) => !exposed.has(name))).toEqual([])
    }
  })

  describe.runIf(hasProgram('promtool', 'prometheus'))('by promtool', () => {
    test('are well-formed', () => {
      const { status, said } = runProgram('promtool', [
        'check',
        'rules',
        file('deploy/prometheus/carillon.rules.yml'),
      ])
      expect(said).toContain('SUCCESS')
      expect(status).toBe(0)
    })

    test('fire when they should, and only then', () => {
      const tested = runProgram('promtool', ['test', 'rules', file('deploy/prometheus/carillon.test.yml')])
      expect(tested.said).toContain('SUCCESS')
      expect(tested.status).toBe(0)
    })

    test('are loaded by the example of a configuration', () => {
      const place = mkdtempSync(join(tmpdir(), 'carillon-prometheus-'))
      for (const name of ['carillon.rules.yml', 'prometheus.example.yml'])
        copyFileSync(file(`deploy/prometheus/${name}`), join(place, name))
      writeFileSync(join(place, 'carillon.key'), 'a key')
      expect(
        runProgram('promtool', ['check', 'config', join(place, 'prometheus.example.yml')]),
      ).toMatchObject({
        status: 0,
      })
      rmSync(place, { recursive: true })
    })
  })
})
