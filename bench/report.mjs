// npm run bench:report [-- FOLDER [PAGE [SIZING_PAGE]]]: the charts and tables of docs/benchmarks.md, and the table of
// docs/operate/sizing.md, from the results that `--out` kept. What
// stands between the marks of a workload is written anew; all other text is left as it is.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chartsOf } from './lib/report-charts.mjs'
import { sectionOf } from './lib/report-section.mjs'
import { sizingSection } from './lib/report-sizing.mjs'

const docs = fileURLToPath(new URL('../docs', import.meta.url))
const folder = resolve(process.argv[2] ?? join(docs, 'benchmarks', 'results'))
const page = resolve(process.argv[3] ?? join(docs, 'benchmarks.md'))
/** Somebody's own page has none beside it, unless named. */
const sizing = process.argv[4] ?? (process.argv[3] === undefined ? join(docs, 'operate', 'sizing.md') : null)

const results = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .sort(new Intl.Collator('en', { numeric: true }).compare)
  .map((name) => ({ name: basename(name, '.json'), ...JSON.parse(readFileSync(join(folder, name), 'utf8')) }))
if (results.length === 0) {
  console.error(
    `bench:report: no results in ${folder}. Make some: npm run bench -- hot-second --out ${folder}`,
  )
  process.exit(2)
}

let text = existsSync(page) ? readFileSync(page, 'utf8') : '# Benchmarks\n'
for (const [workload, own] of Map.groupBy?.(results, byWorkload) ?? grouped(results)) {
  const pictures = own.flatMap((result) =>
    chartsOf(result).map(({ name, title, svg }) => {
      const file = join(folder, '..', `${name}.svg`)
      writeFileSync(file, svg)
      return { title, path: relative(dirname(page), file) }
    }),
  )
  text = put(text, workload, sectionOf(own, pictures))
}
writeFileSync(page, text)
const costs = sizing === null ? null : sizingSection(results)
if (costs !== null) {
  const before = existsSync(sizing) ? readFileSync(sizing, 'utf8') : '# Sizing\n'
  writeFileSync(sizing, put(before, 'sizing', costs))
}
console.error(`bench:report: ${results.length} results in ${relative(process.cwd(), page)}`)

function byWorkload({ workload }) {
  return workload
}

/** Node 20 has no Map.groupBy. */
function grouped(all) {
  const groups = new Map()
  for (const each of all) groups.set(byWorkload(each), [...(groups.get(byWorkload(each)) ?? []), each])
  return groups
}

/** Between its marks; a workload that has none yet comes at the end. */
function put(whole, workload, section) {
  const [begin, end] = [`<!-- bench:${workload} -->`, `<!-- /bench:${workload} -->`]
  const body = `${begin}\n\n${section}\n\n${end}`
  const [from, to] = [whole.indexOf(begin), whole.indexOf(end)]
  if (from >= 0 && to > from) return whole.slice(0, from) + body + whole.slice(to + end.length)
  return `${whole.trimEnd()}\n\n## ${workload}\n\n${body}\n`
}
