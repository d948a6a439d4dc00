// npm run bench -- NAME [--json] [--n N]
import { parseArgs } from 'node:util'

const workloads = {
  fairness: () => import('./fairness.mjs'),
  'first-tick': () => import('./first-tick.mjs'),
  lanes: () => import('./lanes.mjs'),
  time: () => import('./time.mjs'),
  wheel: () => import('./wheel.mjs'),
}
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, n: { type: 'string' } },
})
const [name] = positionals
const load = workloads[name]
if (load === undefined) {
  console.error(
    `bench: ${name === undefined ? 'no workload named' : `there is no workload "${name}"`}. Known: ${Object.keys(workloads).join(', ')}`,
  )
  process.exit(2)
}
const { measure, table } = await load()
const n = values.n === undefined ? undefined : Number(values.n)
if (n !== undefined && !(Number.isInteger(n) && n > 0)) {
  console.error(`bench: --n takes a whole number above 0, not ${values.n}`)
  process.exit(2)
}
const figures = await measure({ n })
console.log(values.json ? JSON.stringify(figures) : table(figures))
if (figures.lost > 0 || figures.doubled > 0 || figures.early > 0) process.exit(1)
