import type { BulkAnswer, BulkInput, BulkResult, Client } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { confirm } from '../confirm.js'
import { outputOf, withJson } from '../output/output.js'
import { progressOf } from '../output/progress.js'
import { visible } from '../output/visible.js'
import { integerOf } from '../job-input.js'
import { readInput } from '../read-input.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'

type Jobs = BulkInput['jobs']

interface BulkFlags {
  file: string
  atomic?: boolean
  skipExisting?: boolean
  batch: string
  yes?: boolean
}

const mostAtOnce = 10_000
const mostErrors = 20

/** `carillon jobs bulk -f jobs.ndjson` */
export function jobsBulkCommand(): Command {
  const command = new Command('bulk')
    .description('Register many jobs at once; each has a result of its own')
    .requiredOption('-f, --file <file>', 'NDJSON (a job in every line), a JSON array, or YAML; - reads stdin')
    .option('--atomic', 'all or none; at most 10,000')
    .option('--skip-existing', 'pass over names that a live job has')
    .option('--batch <n>', 'so many with one call', '2000')
    .option('--yes', 'do not ask')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const flags = command.opts<BulkFlags>()
    const jobs = await jobsOf(flags.file)
    const batch = flags.atomic ? mostAtOnce : sizeOf(flags.batch)
    if (flags.atomic && jobs.length > mostAtOnce)
      throw new UsageError(`--atomic takes ${mostAtOnce} jobs at most, and there are ${jobs.length}.`)
    if (!(await confirm(`Register ${jobs.length} jobs?`, flags))) throw new Error('Nothing was registered.')
    const answer = await inBatches(clientOf(command), jobs, batch, flags)
    output.result(answer, () => answerText(answer))
    if (answer.failed > 0) process.exitCode = 1
  })
  return command
}

function sizeOf(text: string): number {
  const size = integerOf(text, '--batch') ?? 0
  if (size < 1 || size > mostAtOnce)
    throw new UsageError(`--batch is ${size}: 1 to ${mostAtOnce} is expected.`)
  return size
}

async function inBatches(client: Client, jobs: Jobs, batch: number, flags: BulkFlags): Promise<BulkAnswer> {
  const sum: BulkAnswer = { created: 0, failed: 0, skipped: 0, results: [] }
  const progress = progressOf('registering', jobs.length)
  try {
    for (let from = 0; from < jobs.length; from += batch) {
      const part = await client.jobs.bulk({
        jobs: jobs.slice(from, from + batch),
        ...(flags.atomic && { atomic: true }),
        ...(flags.skipExisting && { on_conflict: 'skip' as const }),
      })
      sum.created += part.created
      sum.failed += part.failed
      sum.skipped += part.skipped
      sum.results.push(...part.results.map((one) => ({ ...one, index: one.index + from })))
      progress.to(Math.min(from + batch, jobs.length), jobs.length, sum.failed === 0 ? '' : `✗${sum.failed}`)
    }
    return sum
  } finally {
    progress.stop()
  }
}

function answerText({ created, failed, skipped, results }: BulkAnswer): string {
  const wrong = results.filter(({ status }) => status === 'failed')
  const lines = wrong.slice(0, mostErrors).map(errorLine)
  const more =
    wrong.length > mostErrors ? `  … and ${wrong.length - mostErrors} more: --json has them all\n` : ''
  return `${created} created, ${skipped} skipped, ${failed} failed\n${lines.join('')}${more}`
}

function errorLine({ index, name, error }: BulkResult): string {
  return `  ✗ ${index + 1}: ${visible(name ?? '(no name)')}: ${visible(error?.detail ?? 'refused')} (${visible(error?.code ?? '')})\n`
}

/** Whether each is a job, the server says. */
async function jobsOf(file: string): Promise<Jobs> {
  const text = await readInput(file)
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const isLines = lines.length > 0 && lines.every((line) => /^\s*\{.*\}\s*$/.test(line))
  if (isLines) return lines.map((line, at) => parsedLine(line, at))
  const { parse } = await import('yaml')
  const value: unknown = parse(text)
  const list = Array.isArray(value) ? value : (value as { jobs?: unknown } | null)?.jobs
  if (!Array.isArray(list))
    throw new UsageError(
      'There is no list of jobs in it: NDJSON, a JSON array, or YAML with jobs: is expected.',
    )
  return list as Jobs
}

function parsedLine(line: string, at: number): Jobs[number] {
  try {
    return JSON.parse(line) as Jobs[number]
  } catch (error) {
    throw new UsageError(
      `Line ${at + 1} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}
