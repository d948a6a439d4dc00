import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('../../../../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const folder = 'docs/operate/runbooks'

interface Alert {
  alert: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook_url: string }
}

const { groups } = parse(read('deploy/prometheus/carillon.rules.yml')) as {
  groups: { rules: Partial<Alert>[] }[]
}
const alerts = groups.flatMap(({ rules }) => rules).filter((rule): rule is Alert => rule.alert !== undefined)
const pages = readdirSync(join(root, folder)).filter((name) => name !== 'README.md')

describe('runbooks', () => {
  test('each alert has its page, and each page its alert', () => {
    expect(alerts.map(({ annotations }) => annotations.runbook_url).sort()).toEqual(
      pages.map((page) => `${folder}/${page}`).sort(),
    )
    expect(alerts.length).toBeGreaterThan(10)
  })

  test.each(alerts)(
    '$alert: its page says what it means, how to confirm it, what to do, how to silence it',
    (rule) => {
      const page = read(rule.annotations.runbook_url)
      expect(page.split('\n')[0]).toBe(`# ${rule.alert}`)
      expect([...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual([
        ...['What it means', 'Confirm', 'Do', 'Silence'],
      ])
      expect(page).toContain(`Severity: ${rule.labels.severity}.`)
      expect(page).toContain(rule.alert)
      expect(read(`${folder}/README.md`)).toContain(
        `[${rule.alert}](${rule.annotations.runbook_url.split('/').pop()})`,
      )
    },
  )

  test('name commands and options that there are', () => {
    const sections = new Map(
      read('docs/reference/cli.md')
        .split(/^#{2,4} (?=carillon )/m)
        .slice(1)
        .map((section) => [section.split('\n', 1)[0] ?? '', section]),
    )
    const wrong: string[] = []
    let seen = 0
    for (const page of pages) {
      for (const [, command = ''] of read(`${folder}/${page}`)
        .replaceAll('\n', ' ')
        .matchAll(/`(carillon [^`]+)`/g)) {
        seen += 1
        const name = [...sections.keys()].filter((one) => `${command} `.startsWith(`${one} `)).at(-1)
        const section = name === undefined ? '' : (sections.get(name) ?? '')
        const options = command.match(/--[a-z-]+/g) ?? []
        if (name === undefined || options.some((option) => !section.includes(`\`${option}`)))
          wrong.push(`${page}: ${command}`)
      }
    }
    expect(wrong).toEqual([])
    expect(seen).toBeGreaterThan(30)
  })
})
