import { describe, expect, it } from 'vitest'
import { jobsOfK8s } from './k8s.js'

const options = { file: 'k.yaml', timezone: 'UTC' }
const read = (text: string) => jobsOfK8s(text, options)

const whole = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
  namespace: shop
  labels: { app: hello, "bad label": x }
spec:
  schedule: "*/5 * * * *"
  timeZone: Europe/Madrid
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  suspend: true
  successfulJobsHistoryLimit: 3
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: OnFailure
          volumes: [{ name: v }]
          containers:
            - name: hello
              image: busybox:1.28
              command: [/bin/sh, -c]
              args: ["echo $(GREETING) $(NOBODY) $$(GREETING)"]
              workingDir: /srv
              env:
                - { name: GREETING, value: hi }
                - { name: WHO, value: "$(GREETING) you" }
                - { name: PASSWORD, valueFrom: { secretKeyRef: { name: a, key: b } } }
`
const brief = (name: string, spec = '', container = 'command: [a]') =>
  `kind: CronJob\nmetadata: {name: ${name}}\nspec:\n  schedule: "@hourly"\n${spec}  jobTemplate: {spec: {template: {spec: {containers: [{name: c, ${container}}]}}}}\n`

describe('a CronJob', () => {
  it('becomes a command job with all that has a counterpart', () => {
    const { declared } = read(whole)
    expect(declared).toHaveLength(1)
    expect(declared[0]).toMatchObject({ paused: true, at: { file: 'k.yaml', line: 1 } })
    expect(declared[0]?.input).toEqual({
      name: 'shop/hello',
      schedule: '*/5 * * * *',
      timezone: 'Europe/Madrid',
      target: {
        type: 'command',
        argv: ['/bin/sh', '-c', 'echo hi $(NOBODY) $(GREETING)'],
        env: { GREETING: 'hi', WHO: 'hi you' },
        cwd: '/srv',
      },
      tags: ['app=hello'],
      overlap_policy: 'SKIP',
      missed_window: 'RUN_ONCE',
      misfire_grace_seconds: 200,
      max_retries: 2,
      timeout_seconds: 600,
    })
  })

  it('reports what has none, with the line', () => {
    const said = read(whole).remarks.map(({ at, kind, text }) => `${at.line} ${kind} ${text}`)
    for (const expected of [
      /^6 note hello: labels/,
      /^13 note hello: spec.successfulJobsHistoryLimit has no counterpart/,
      /^17 note hello: 600 s/,
      /^21 note hello: .*volumes has no counterpart/,
      /^24 note hello: .*image busybox/,
      /^31 note hello: the variable PASSWORD/,
    ]) {
      expect(said.filter((line) => expected.test(line))).toHaveLength(1)
    }
    expect(said).toHaveLength(6)
  })

  it('without policies gets those of Kubernetes', () => {
    expect(read(brief('a')).declared[0]?.input).toMatchObject({
      overlap_policy: 'ALLOW',
      missed_window: 'RUN_ONCE',
      max_retries: 6,
      timeout_seconds: 86_400,
      timezone: 'UTC',
    })
    expect(read(brief('a')).declared[0]).not.toHaveProperty('paused')
  })

  it.each([
    ['Allow', 'ALLOW'],
    ['Forbid', 'SKIP'],
    ['Replace', 'REPLACE'],
  ])('with concurrencyPolicy %s', (policy, overlap) => {
    const { declared } = read(brief('a', `  concurrencyPolicy: ${policy}\n`))
    expect(declared[0]?.input.overlap_policy).toBe(overlap)
  })

  it('has a zone in front of its schedule taken out', () => {
    const { declared, remarks } = read(brief('a').replace('@hourly', 'CRON_TZ=Asia/Tokyo 0 9 * * *'))
    expect(declared[0]?.input).toMatchObject({ schedule: '0 9 * * *', timezone: 'Asia/Tokyo' })
    expect(remarks).toMatchObject([{ kind: 'note', at: { line: 4 } }])
  })

  it.each([
    ['an image without a command', brief('a', '', 'image: x'), /entry point.*left out/],
    ['two containers', brief('a', '', 'command: [a]}, {name: d'), /2 containers.*left out/],
    ['no container', 'kind: CronJob\nmetadata: {name: a}\nspec: {schedule: "@daily"}', /no container/],
    ['another kind', 'kind: Deployment', /Deployment is no CronJob/],
  ])('with %s is left out, which is no mistake', (_what, text, why) => {
    const { declared, remarks } = read(text)
    expect(declared).toEqual([])
    expect(remarks).toMatchObject([{ kind: 'note' }])
    expect(remarks[0]?.text).toMatch(why)
  })

  it.each([
    ['an unknown policy', brief('a', '  concurrencyPolicy: Never\n'), 5, /Allow, Forbid or Replace/],
    ['a deadline that is no number', brief('a', '  startingDeadlineSeconds: soon\n'), 5, /whole number/],
    ['no schedule', 'kind: CronJob\nmetadata: {name: a}', 1, /no spec.schedule/],
    ['YAML that is none', 'kind: CronJob\n  x: [', 1, /./],
  ])('with %s is a mistake, told with its line', (_what, text, line, why) => {
    const [first] = read(text).remarks.filter(({ kind }) => kind === 'error')
    expect(first?.at.line).toBe(line)
    expect(first?.text).toMatch(why)
  })

  it('is found in lists and in many documents', () => {
    const list = JSON.stringify({
      kind: 'List',
      items: [
        {
          kind: 'CronJobList',
          items: [
            {
              kind: 'CronJob',
              metadata: { name: 'b' },
              spec: {
                schedule: '@daily',
                jobTemplate: { spec: { template: { spec: { containers: [{ command: ['b'] }] } } } },
              },
            },
          ],
        },
      ],
    })
    const { declared } = read(`${brief('a')}---\n${list}\n---\n---\n${brief('c')}`)
    expect(declared.map(({ input }) => input.name)).toEqual(['a', 'b', 'c'])
  })

  it('that is a template is told so', () => {
    const [first] = read('kind: CronJob\nspec:\n  schedule: {{ .Values.schedule }}\n  {{- if x }}\n').remarks
    expect(first?.hint).toContain('helm template')
  })
})

it.each(['null', '{value: x}', 'A'])('tells a variable that is none: %s', (item) => {
  const { remarks } = read(brief('a', '', `command: [a], env: [${item}]`))
  expect(remarks).toMatchObject([{ kind: 'error', at: { line: 5 } }])
  expect(remarks[0]?.text).toContain('is no variable')
})
