// npm run bench -- NAME [--json] [--n N] [--seconds S]
import { parseArgs } from 'node:util'

const workloads = {
  fairness: () => import('./fairness.mjs'),
  'first-tick': () => import('./first-tick.mjs'),
  'in-flight': () => import('./in-flight.mjs'),
  'old-snapshot': () => import('./old-snapshot.mjs'),
  register: () => import('./register.mjs'),
  lanes: () => import('./lanes.mjs'),
  time: () => import('./time.mjs'),
  wheel: () => import('./wheel.mjs'),
}
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, n: { type: 'string' }, seconds: { type: 'string' } },
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
const figures = await measure({ n: wholeNumber('n'), seconds: wholeNumber('seconds') })
console.log(values.json ? JSON.stringify(figures) : table(figures))
if (figures.lost > 0 || figures.doubled > 0 || figures.early > 0) process.exit(1)

function wholeNumber(name) {
  const given = values[name]
  if (given === undefined || (Number.isInteger(Number(given)) && Number(given) > 0))
    return given && Number(given)
  console.error(`bench: --${name} takes a whole number above 0, not ${given}`)
  process.exit(2)
}
