import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describe, runCampaign } from './campaign.js'
import { runHistory } from './history.js'
import { type Mutant, mutants } from './mutants.js'

const usage = `npm run simulate -- [--seed S] [--histories N] [--mutant NAME] [--trace]

  --seed S       the first seed (1); each history has the next one
  --histories N  how many (10000; with --trace 1)
  --mutant NAME  takes a guard out: ${mutants.join(', ')}
  --trace        tells every step
  --interleavings FILE
                 writes the numbers of the interleavings there, as doubles: to count those of several runs together
`

/** Answers the exit code: 0 when every promise was kept. */
export async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: '1' },
      histories: { type: 'string' },
      mutant: { type: 'string' },
      interleavings: { type: 'string' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const [seed, histories] = [Number(values.seed), Number(values.histories ?? (values.trace ? 1 : 10_000))]
  const known = values.mutant === undefined || mutants.includes(values.mutant as Mutant)
  if (values.help || !known || !Number.isInteger(seed) || !Number.isInteger(histories)) {
    process.stdout.write(usage)
    return values.help ? 0 : 2
  }
  const taken = new Set(values.mutant === undefined ? [] : [values.mutant as Mutant])
  if (values.trace) return trace(seed, histories, taken)
  const begun = process.cpuUsage()
  const campaign = await runCampaign({ seed, histories, mutants: taken })
  if (values.interleavings !== undefined)
    writeFileSync(values.interleavings, new Float64Array(campaign.interleavings))
  const { user, system } = process.cpuUsage(begun)
  for (const history of campaign.broken.slice(0, 10)) process.stderr.write(`${describe(history, taken)}\n`)
  const { broken, interleavings, ...counts } = campaign
  const cpuSeconds = Math.round((user + system) / 1e5) / 10
  const report = {
    seed,
    ...counts,
    distinct: interleavings.size,
    broken: broken.length,
    cpu_seconds: cpuSeconds,
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
  return broken.length === 0 ? 0 : 1
}

async function trace(seed: number, histories: number, taken: ReadonlySet<Mutant>): Promise<number> {
  let broken = 0
  for (let at = 0; at < histories; at++) {
    const tell = (line: string) => void process.stdout.write(`${line}\n`)
    const history = await runHistory(seed + at, { mutants: taken, tell })
    if (history.violations.length === 0) continue
    broken += 1
    process.stderr.write(`${describe(history, taken)}\n`)
  }
  return broken === 0 ? 0 : 1
}
