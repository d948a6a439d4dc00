// Plays the scenarios of the mutants, each on its mutant and on the ordinary build: the checker must be red on the one, for the
// expected reason, and green on the other.
//   node chaos/mutants/prove.mjs [NAME …] [--json] [--keep]
// Progress goes to stderr, with --json one line for each mutant to stdout; the exit code is 1 where one was not proven.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { check } from '../checker/check.mjs'
import { readLedgers } from '../checker/read.mjs'
import { buildMutant, mutantOf } from './build.mjs'
import { scenarios } from './scenarios.mjs'
import { Databases } from './stage/database.mjs'
import { Stage } from './stage/stage.mjs'

const runLeaseSeconds = 30

/**
 * Plays a mutant's scenario once and answers what the checker found: violations by kind.
 * @param {string} name
 * @param {{ build: 'mutant' | 'alone' | 'ordinary', databases: Databases, folder: string }} options alone: the guard is gone, and
 *   what hides that is not
 */
export async function play(name, { build: kind, databases, folder }) {
  const scenario = scenarios[name]
  const { seed } = scenario
  const mutated = kind !== 'ordinary'
  const build = mutated ? buildMutant(name, { alone: kind === 'alone' }) : undefined
  const databaseUrl = await databases.make()
  const options = {
    mutant: mutated ? name : null,
    build,
    databaseUrl,
    folder,
    seed,
    runLeaseSeconds,
    ...scenario,
  }
  let stage
  try {
    stage = await Stage.open(options)
    const end = await scenario.play(stage)
    await stage.drain(end)
    await stage.export(end)
  } finally {
    await stage?.close()
    if (build !== undefined) rmSync(build, { recursive: true, force: true })
  }
  const { verdict } = await check(await readLedgers(folder))
  return { ticks: verdict.counts.ticks ?? 0, violations: verdict.violations }
}

/**
 * Both builds. Proven: red for each expected reason on the mutant, and nothing at all on the ordinary build.
 * @param {string} name @param {{ databases: Databases, folder: string }} options
 */
export async function prove(name, { databases, folder }) {
  const { guard } = mutantOf(name)
  const { red, seed } = scenarios[name]
  const on = (build) => play(name, { build, databases, folder: join(folder, `${name}-${build}`) })
  const mutant = await on('mutant')
  const ordinary = await on('ordinary')
  const missed = red.filter((kind) => mutant.violations[kind] === undefined)
  const proven = missed.length === 0 && Object.keys(ordinary.violations).length === 0 && ordinary.ticks > 0
  return { name, guard, seed, proven, missed, mutant, ordinary }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
  })
  for (const name of positionals) mutantOf(name)
  const folder = mkdtempSync(join(tmpdir(), 'carillon-mutants-'))
  const databases = await Databases.open()
  let unproven = 0
  try {
    for (const name of positionals.length > 0 ? positionals : Object.keys(scenarios)) {
      const begun = performance.now()
      const result = await prove(name, { databases, folder })
      if (!result.proven) unproven += 1
      process.stderr.write(`${told(result)}  ${Math.round((performance.now() - begun) / 1_000)} s\n`)
      if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
    }
  } finally {
    await databases.close()
    if (unproven === 0 && !values.keep) rmSync(folder, { recursive: true, force: true })
    else process.stderr.write(`all that was written down is in ${folder}\n`)
  }
  process.exitCode = unproven > 0 ? 1 : 0
}

function told({ name, proven, missed, mutant, ordinary }) {
  const list = ({ violations }) =>
    Object.entries(violations)
      .map(([kind, { count }]) => `${kind} ${count}`)
      .join(', ') || 'nothing'
  const why = missed.length > 0 ? ` (not found: ${missed.join(', ')})` : ''
  return `${proven ? '✓' : '✗'} ${name.padEnd(22)} mutant: ${list(mutant)}${why}; ordinary: ${list(ordinary)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
