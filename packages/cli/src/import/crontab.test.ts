import { execFileSync } from 'node:child_process'
import type { Client } from '@carillon/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DeclarationError } from '../declare/refused.js'
import { jobsOfCrontab } from './crontab.js'
import { quoted, splitAtPercent, targetOf } from './crontab-command.js'
import { looksLikeSystem, readCrontab } from './crontab-lines.js'
import { namesOf } from './crontab-names.js'
import { scheduleOf } from './crontab-schedule.js'
import { settleNames } from './settle-names.js'

const options = { file: 'crontab', system: false, timezone: 'UTC' }
const read = (text: string, more = {}) => jobsOfCrontab(text, { ...options, ...more })
const only = (text: string, more = {}) => {
  const { declared } = read(text, more)
  expect(declared).toHaveLength(1)
  return declared[0]!.input
}
const notes = (text: string, more = {}) =>
  read(text, more).remarks.map(({ at, text: said }) => `${at.line} ${said}`)

describe('a line of a crontab', () => {
  it.each([
    ['0 2 * * * /bin/backup --all', '0 2 * * *', '/bin/backup --all'],
    ['  0\t2 * *   *\t/bin/backup  --all', '0 2 * * *', '/bin/backup  --all'],
    ['*/15 0-6,20-23/2 1,15 jan-mar mon-fri x', '*/15 0-6,20-23/2 1,15 jan-mar mon-fri', 'x'],
    ['@daily x', '0 0 * * *', 'x'],
    ['@midnight x', '0 0 * * *', 'x'],
    ['@Weekly x', '0 0 * * 0', 'x'],
    ['@annually x', '0 0 1 1 *', 'x'],
    ['-0 2 * * * quiet', '0 2 * * *', 'quiet'],
    ['0 2 * * * a # not a comment here', '0 2 * * *', 'a # not a comment here'],
    ['0 2 * * 7 FOO=bar x', '0 2 * * 7', 'FOO=bar x'],
    ['0 2 * * * x\r', '0 2 * * *', 'x'],
  ])('%j becomes a command job', (line, schedule, shell) => {
    expect(only(line)).toMatchObject({ schedule, timezone: 'UTC', target: { type: 'command', shell } })
  })

  it('runs as cron does: overlapping, never again, never late', () => {
    expect(only('0 2 * * * x')).toMatchObject({
      overlap_policy: 'ALLOW',
      missed_window: 'SKIP',
      max_retries: 0,
      timeout_seconds: 86_400,
    })
  })

  it('takes what the command line says in place of that', () => {
    const fields = { missed_window: 'RUN_ONCE', managed_by: 'web1' } as const
    expect(only('0 2 * * * x', { fields })).toMatchObject(fields)
  })

  it.each([
    ['0 2 * *', '4 of the 5 fields'],
    ['0 2 * * *', 'the command is missing'],
    ['@daily', 'the command is missing'],
    ['hello', '"hello" stands where'],
  ])('%j is refused with its number', (line, why) => {
    const { declared, remarks } = read(`\n${line}\n`)
    expect(declared).toEqual([])
    expect(remarks).toMatchObject([{ kind: 'error', at: { line: 2 } }])
    expect(remarks[0]?.text).toContain(why)
  })

  it('that asks for a reboot is reported, and no mistake', () => {
    const { declared, remarks } = read('@reboot /bin/start')
    expect(declared).toEqual([])
    expect(remarks).toMatchObject([{ kind: 'note', at: { line: 1 } }])
    expect(remarks[0]?.text).toMatch(/@reboot.*\/bin\/start/)
  })

  it.each(['0 0 */2 * 1', '0 0 1 * */2'])('%s asks for both days, as Vixie has it', (when) => {
    expect(scheduleOf(when, '')).toMatchObject({ schedule: { cron: when, day_match: 'and' } })
  })

  it.each(['0 0 1 * 1', '0 0 * * 1', '0 0 */2 * *', '0 0 */1 * 1', '0 0 1-31/2 * 1'])(
    '%s stays as it is',
    (when) => {
      expect(scheduleOf(when, '')).toEqual({ schedule: when, notes: [] })
    },
  )

  it('with a random moment gets one of the range, the same at every import', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 0, max: 59 }),
        fc.string(),
        (a, b, seed) => {
          const [low, high] = [Math.min(a, b), Math.max(a, b)]
          const { schedule } = scheduleOf(`${low}~${high} 3 * * *`, seed) as { schedule: string }
          const minute = Number(schedule.split(' ')[0])
          expect(minute).toBeGreaterThanOrEqual(low)
          expect(minute).toBeLessThanOrEqual(high)
          expect(scheduleOf(`${low}~${high} 3 * * *`, seed)).toMatchObject({ schedule })
        },
      ),
    )
    expect(scheduleOf('~ 3 * * *', 'x')).toMatchObject({
      schedule: expect.stringMatching(/^\d+ 3 \* \* \*$/) as string,
    })
  })
})

describe('variables', () => {
  it('hold for the lines below them', () => {
    const { declared } = read('A=1\n0 1 * * * one\nA=2\nB="two words "\n0 2 * * * two\n')
    expect(declared.map(({ input }) => input.target)).toEqual([
      { type: 'command', shell: 'one', env: { A: '1' } },
      { type: 'command', shell: 'two', env: { A: '2', B: 'two words ' } },
    ])
  })

  it.each([
    ['A=1', '1'],
    ['A = 1', '1'],
    ["A='x y'", 'x y'],
    ['"A"=x', 'x'],
    ['A=$HOME/bin', '$HOME/bin'],
    ['A=', ''],
    ['A=a=b', 'a=b'],
  ])('%s is read as crontab(5) has it', (line, value) => {
    expect(readCrontab(line, { system: false })).toMatchObject([{ kind: 'variable', name: 'A', value }])
  })

  it('CRON_TZ is the zone of schedules; TZ belongs to the commands and is remarked on', () => {
    const text = '0 1 * * * a\nCRON_TZ=Asia/Tokyo\nTZ=Europe/Paris\n0 1 * * * b'
    const [a, b] = read(text, { timezone: 'Europe/Madrid' }).declared.map(({ input }) => input)
    expect(a).toMatchObject({ timezone: 'Europe/Madrid' })
    expect(b).toMatchObject({ timezone: 'Asia/Tokyo', target: { env: { TZ: 'Europe/Paris' } } })
    expect(notes(text)).toEqual([expect.stringMatching(/^3 TZ is given to the commands/)])
  })

  it('SHELL runs the line, HOME is where it starts', () => {
    expect(only('SHELL=/bin/bash\nHOME=/srv\n0 1 * * * a b')).toMatchObject({
      target: { argv: ['/bin/bash', '-c', 'a b'], cwd: '/srv', env: { HOME: '/srv' } },
    })
  })

  it('RANDOM_DELAY becomes jitter, in seconds', () => {
    expect(only('RANDOM_DELAY=30\n0 1 * * * a')).toMatchObject({ jitter_seconds: 1_800 })
    expect(only('RANDOM_DELAY=99999\n0 1 * * * a')).toMatchObject({ jitter_seconds: 86_400 })
    expect(notes('RANDOM_DELAY=soon\n0 1 * * * a')).toEqual([expect.stringContaining('RANDOM_DELAY')])
  })

  it('MAILTO is reported with its address, and mail that is off is not', () => {
    expect(notes('MAILTO=ops@example.com\nMAILFROM=x\n0 1 * * * a')).toEqual([
      expect.stringMatching(/^1 MAILTO=ops@example\.com/),
    ])
    expect(notes('MAILTO=""\n0 1 * * * a')).toEqual([])
  })

  it('that Carillon sets itself are left out', () => {
    const text = 'CARILLON_X=1\n0 1 * * * a'
    expect(only(text).target).toEqual({ type: 'command', shell: 'a' })
    expect(notes(text)).toEqual([expect.stringContaining('CARILLON_X')])
  })
})

describe('%', () => {
  it.each([
    ['date "+\\%F"', { command: 'date "+%F"', input: null }],
    ['mail joe%Hello,%%bye', { command: 'mail joe', input: 'Hello,\n\nbye' }],
    ['cat%100\\% sure', { command: 'cat', input: '100% sure' }],
    ['cat%', { command: 'cat', input: '' }],
    ['echo a\\b', { command: 'echo a\\b', input: null }],
    ['echo a   ', { command: 'echo a', input: null }],
  ])('%j', (text, split) => {
    expect(splitAtPercent(text)).toEqual(split)
  })

  it.each(['/bin/sh', '/bin/bash'])('feeds the command through %s as cron does', (shell) => {
    const run = (line: string) => {
      const { shell: text = '' } = targetOf(splitAtPercent(line), { shell, env: {} })
      return execFileSync('/bin/sh', ['-c', text], { encoding: 'utf8' })
    }
    expect(run("cat # a comment%it's%%two $HOME")).toBe("it's\n\ntwo $HOME\n")
    expect(run('cat; echo end%a%')).toBe('a\nend\n')
    expect(run('cat%')).toBe('')
  })

  it('quotes any text as one word', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('\0')),
        (text) => {
          const said = execFileSync('/bin/sh', ['-c', `printf %s ${quoted(text)}`], { encoding: 'utf8' })
          expect(said).toBe(text)
        },
      ),
      { numRuns: 25 },
    )
  })
})

describe('names', () => {
  const names = (text: string) => read(text).declared.map(({ input }) => input.name)

  it.each([
    ['# Nightly backup\n0 1 * * * /x', 'nightly-backup'],
    ['# name: billing.nightly\n# long words about it\n0 1 * * * /x', 'billing.nightly'],
    ['# This comment is far too long to be the name of anything\n0 1 * * * /opt/a.sh', 'a'],
    ['#0 5 * * * /old\n0 1 * * * /opt/new', 'new'],
    ['# -----\n0 1 * * * /opt/new', 'new'],
    ['# Backup\n\n0 1 * * * /opt/new', 'new'],
    ['0 1 * * * cd /srv && ./bin/report.py --x', 'report'],
    ['0 1 * * * nice -n 19 python3 -u /opt/clean_up.py', 'clean_up'],
    ['0 1 * * * /usr/bin/flock -n /tmp/x.lock /usr/bin/rsync -a a b', 'rsync'],
    ['0 1 * * * LANG=C timeout 5m php artisan schedule:run', 'artisan'],
    ['0 1 * * * [ -x /usr/bin/a ] && /usr/bin/a', 'a'],
    ['0 1 * * * "/opt/my app/run.sh"', 'my'],
  ])('%j', (text, name) => {
    expect(names(text)).toEqual([name])
  })

  it('tell lines of one program apart by what they say, not by where they stand', () => {
    const lines = ['0 1 * * * /bin/a --x', '0 2 * * * /bin/a --y', '0 3 * * * /bin/a --y']
    const there = new Map(lines.map((line, at) => [line, names(lines.join('\n'))[at]]))
    const back = lines.toReversed()
    expect(new Set(there.values()).size).toBe(3)
    expect(names(back.join('\n'))).toEqual(back.map((line) => there.get(line)))
  })

  it('are unique and not empty, whatever the lines say', () => {
    const line = fc.record({
      command: fc.string({ minLength: 1 }),
      when: fc.constantFrom('0 1 * * *', '@daily'),
      comment: fc.array(fc.string(), { maxLength: 2 }),
    })
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        const found = namesOf(lines, '').map(({ name }) => name)
        expect(new Set(found).size).toBe(lines.length)
        for (const name of found) expect(name).toMatch(/^\S.*$/u)
      }),
    )
  })

  it('carry a prefix', () => {
    expect(only('0 1 * * * a', { prefix: 'web1-' }).name).toBe('web1-a')
  })
})

describe('comments', () => {
  it('right above a line describe it', () => {
    expect(only('# First words\n# and more of them\n0 1 * * * a')).toMatchObject({
      description: 'First words\nand more of them',
    })
  })

  it('that were lines once describe nothing', () => {
    expect(only('# Words\n#0 1 * * * old\n0 1 * * * a').description).toBe('Words')
  })
})

describe('a system crontab', () => {
  const text = '0 1 * * * root /bin/a\n0 2 * * * www-data /bin/b\n0 3 * * * root /bin/c'

  it('has a user before the command, which is reported once', () => {
    const { declared, remarks } = read(text, { system: true })
    expect(declared.map(({ input }) => input.target)).toMatchObject([
      { shell: '/bin/a' },
      { shell: '/bin/b' },
      { shell: '/bin/c' },
    ])
    expect(remarks.map(({ text: said }) => said)).toEqual([
      expect.stringMatching(/^runs as root here \(also line 3\)/),
      expect.stringMatching(/^runs as www-data here;/),
    ])
  })

  it('is known by its place or by its users', () => {
    const here = new Set(['deploy'])
    expect(looksLikeSystem('0 1 * * * strange /bin/a', '/etc/cron.d/x', here)).toBe(true)
    expect(looksLikeSystem(text, 'x', here)).toBe(true)
    expect(looksLikeSystem('0 1 * * * deploy /bin/a', '-', here)).toBe(true)
    expect(looksLikeSystem('0 1 * * * backup', '-', here)).toBe(false)
    const mine = new Set(['deploy', 'mail', 'sync'])
    expect(looksLikeSystem('0 1 * * * mail -s hello root', '-', mine)).toBe(false)
    expect(looksLikeSystem('0 1 * * * backup /srv\n0 2 * * * sync ; x', '-', mine)).toBe(false)
    expect(looksLikeSystem('0 1 * * * deploy -x', '-', mine)).toBe(false)
    expect(looksLikeSystem('0 1 * * * backup /bin/a\n0 2 * * * deploy b', '-', mine)).toBe(true)
    expect(looksLikeSystem('0 1 * * * /bin/a x\n0 1 * * * root x', '-', here)).toBe(false)
  })
})

it('reads any text without falling over, and loses no line silently', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom('', '# c', 'A=1', '@reboot x', '0 1 * * * x', '0 1 * * *', 'MAILTO=x', '* * *', '%'),
  )
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join('\n')
      const found = readCrontab(text, { system: false })
      const meant = text.split(/\r?\n/).filter((one) => one.trim() !== '' && !/^[ \t]*#/.test(one))
      // A line separator of another kind is no end of a line in a crontab.
      expect(found).toHaveLength(
        meant.filter((one, at) => at > 0 || one.replace(/^\ufeff/, '').trim() !== '').length,
      )
      const { declared, remarks } = read(text)
      const jobs = found.filter(({ kind }) => kind === 'job').length
      const leftOut = remarks.filter(({ text: said }) => said.includes('left out (')).length
      expect(declared.length + leftOut).toBe(jobs)
    }),
  )
})

describe('a second import', () => {
  /** Live jobs, each made by the line under its name. */
  const clientWith = (made: Readonly<Record<string, string>>) => {
    const jobs = Object.entries(made).map(([name, line]) => ({ ...only(line), name, state: 'active' }))
    return {
      jobs: {
        // eslint-disable-next-line @typescript-eslint/require-await -- as the client has it
        async *iterate({ search = '' }: { search?: string }) {
          yield* jobs.filter(({ name }) => name.includes(search))
        },
      },
    } as unknown as Client
  }
  const imported = async (client: Client, ...lines: string[]) => {
    const { declared, remarks } = await settleNames(client, read(lines.join('\n')))
    return {
      names: declared.map(({ input }) => input.name),
      notes: remarks.map(({ text }) => text),
      /** What a third import would find. */
      made: Object.fromEntries(declared.map(({ input }, at) => [input.name, lines[at] ?? ''])),
    }
  }
  const [a, b] = ['0 1 * * * /bin/backup /a', '0 2 * * * /bin/backup /b']

  it('gives no line that stayed another name, whatever comes or goes beside it', async () => {
    const first = await imported(clientWith({}), a)
    expect(first.names).toEqual(['backup'])
    const grown = await imported(clientWith(first.made), b, a)
    expect(grown.names[1]).toBe('backup')
    expect(grown.names[0]).toMatch(/^backup-[0-9a-f]{6}$/)
    const shrunk = await imported(clientWith(grown.made), b)
    expect(shrunk.names).toEqual([grown.names[0]])
    expect(shrunk.notes).toEqual([])
  })

  it('changes the job of a line that changed', async () => {
    expect((await imported(clientWith({ backup: a }), '0 1 * * * /bin/backup /other')).names).toEqual([
      'backup',
    ])
  })

  it('tells one command with two schedules apart', async () => {
    const twice = [a, a.replace('0 1', '0 5')]
    const first = await imported(clientWith({}), ...twice)
    expect((await imported(clientWith(first.made), ...twice.toReversed())).names).toEqual(
      first.names.toReversed(),
    )
  })

  it('names a job of an earlier one that no line has any more', async () => {
    const { made } = await imported(clientWith({}), a, b)
    const { notes: said } = await imported(clientWith(made), a)
    expect(said).toEqual([expect.stringMatching(/^the job backup-[0-9a-f]{6} looks like/)])
  })
})

describe('a line that is not what it seems', () => {
  const said = (text: string, more = {}) =>
    read(text, more).remarks.map(({ at, kind, text: words }) => `${at.line} ${kind} ${words}`)
  const users = new Set(['alice'])

  it.each([
    ['0 9 * * /usr/bin/report', '"/usr/bin/report" stands where'],
    ['0 9 * * curl -s x', '"curl" stands where'],
    ['0 9 *', '3 of the 5'],
  ])('%j says that a field is missing', (line, words) => {
    expect(said(line)).toEqual([expect.stringMatching(/^1 error a field is missing: /)])
    expect(said(line)[0]).toContain(words)
  })

  it('leaves a field that is only wrong to those who know the repair', () => {
    expect(said('0 9 * * MONDAY x')).toEqual([])
    expect(said('0 61 * * 1-5 x')).toEqual([])
  })

  it('has a sixth field where people expect seconds', () => {
    expect(said('*/5 * * * * * x')).toEqual([expect.stringMatching(/^1 note .*"\*".*none for seconds/)])
    expect(said('*/5 * * * * 7z x')).toEqual([])
  })

  it('names a user where the others name none: one is asked which it is', () => {
    const mixed = '0 1 * * * /bin/a\n0 2 * * * alice /bin/b\n0 3 * * * mysql -e x\n'
    expect(said(mixed, { users })).toEqual([expect.stringMatching(/^2 error "alice" looks like a user/)])
    expect(said(mixed)).toEqual([])
  })
})

describe('a file that is something else', () => {
  it('is told by its first ten mistakes', () => {
    const error = new DeclarationError(read('jobs:\n'.repeat(47)).remarks)
    expect(error.message.match(/a field is missing/g)).toHaveLength(10)
    expect(error.message).toMatch(/There are 47 mistakes:[^]*… and 37 more/)
    expect(error.errors).toHaveLength(47)
  })
})
