import type { Client, Job } from '@carillon/sdk'
import { same } from '../declare/complete.js'
import type { Declared } from '../declare/declared.js'
import { isLive } from '../find-job.js'
import type { Mapped } from './crontab.js'
import type { Naming } from './crontab-names.js'

const largestPage = 200

/**
 * A line keeps the name of the job that an earlier import made of it. Which name a line has depends on the lines beside it,
 * so a new line of the same program could rename an old one otherwise: both jobs would then run its command.
 */
export async function settleNames(client: Client, mapped: Mapped): Promise<Mapped> {
  const { declared, namings = [], remarks } = mapped
  if (remarks.some(({ kind }) => kind === 'error')) return mapped
  const present = await presentOf(client, new Set(namings.map(({ base }) => base)))
  const names = settled(declared, namings, present)
  const taken = new Set(names)
  const orphans = present.filter(({ name }) => !taken.has(name) && /-[0-9a-f]{6}$/.test(name))
  return {
    ...mapped,
    declared: declared.map((one, at) => ({
      ...one,
      input: { ...one.input, name: names[at] ?? one.input.name },
    })),
    remarks: [
      ...remarks,
      ...orphans.map(({ name }) => ({
        at: declared[0]?.at ?? { file: '-', line: 0 },
        kind: 'note' as const,
        text: `the job ${name} looks like one of an earlier import, and no line has its command now: it goes on`,
        hint: `If that is not meant: carillon jobs delete ${name}`,
      })),
    ],
  }
}

/** Live command jobs whose name a line of these bases could have. */
async function presentOf(client: Client, bases: ReadonlySet<string>): Promise<Job[]> {
  const found: Job[] = []
  for (const base of bases) {
    for await (const job of client.jobs.iterate({ search: base, target: 'command', limit: largestPage })) {
      const rest = job.name.startsWith(base) ? job.name.slice(base.length) : null
      if (isLive(job) && rest !== null && /^(-[0-9a-f]{6}(-\d+)?)?$/.test(rest)) found.push(job)
    }
  }
  return found
}

function settled(
  declared: readonly Declared[],
  namings: readonly Naming[],
  present: readonly Job[],
): string[] {
  const names: (string | undefined)[] = declared.map(() => undefined)
  const taken = new Set<string>()
  const give = (at: number, name: string) => {
    names[at] = name
    taken.add(name)
  }
  const jobs = new Map(present.map((job) => [job.name, job]))
  // Two lines may have one command: the one with the schedule of the job has the better claim.
  const claims = [
    ({ input }: Declared, job: Job) => same(job.target, input.target) && same(job.schedule, input.schedule),
    ({ input }: Declared, job: Job) => same(job.target, input.target),
  ]
  for (const claim of claims) {
    for (const [at, one] of declared.entries()) {
      if (names[at] !== undefined) continue
      const known = [one.input.name, ...(namings[at]?.others ?? [])].find((name) => {
        const job = jobs.get(name)
        return job !== undefined && !taken.has(name) && claim(one, job)
      })
      if (known !== undefined) give(at, known)
    }
  }
  for (const [at, one] of declared.entries()) {
    if (names[at] !== undefined) continue
    const { name } = one.input
    const free = [name, ...(namings[at]?.others ?? [])].find((other) => !taken.has(other))
    give(at, free ?? numbered(name, taken))
  }
  return names.map((name) => name ?? '')
}

function numbered(name: string, taken: ReadonlySet<string>): string {
  for (let times = 2; ; times++) if (!taken.has(`${name}-${times}`)) return `${name}-${times}`
}
