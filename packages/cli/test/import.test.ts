import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Job, JobList } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ended, RunOptions, TestServer } from './support/carillon.js'
import { carillon, jsonOf, newFolder, removeFolder, startServer, until } from './support/carillon.js'

let server: TestServer
let folder: string

beforeAll(async () => {
  folder = newFolder()
  server = await startServer(['--allow-commands'], { CARILLON_MIN_INTERVAL_SECONDS: '1' })
})
afterAll(async () => {
  removeFolder(folder)
  await server.stop()
})

function speak(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return carillon(args, { ...options, env: { CARILLON_URL: server.url, ...options.env } })
}

interface Imported {
  create: number
  change: number
  keep: number
  notes: { place: string; text: string }[]
}

describe('carillon import crontab', () => {
  const crontab = () => `# The crontab of a small machine
SHELL=/bin/sh
GREETING="good morning"
MAILTO=ops@example.com
HOME=${folder}

# name: second
@every_second echo "$GREETING" >> plain
@every_second cat > fed%first line%second \\% line
@every_second pwd > where; date "+\\%Y" > year
@reboot /usr/bin/start
* * * * * true
*/5 * * * * /usr/bin/report --quick
0 * * * * /usr/bin/report --slow
15 2 * * * /usr/local/bin/backup.sh
30 2 * * 0 /usr/local/bin/backup.sh --full
0 0 1 * * find ${folder} -name '*.tmp' -delete
0 9 * * mon-fri echo workday
0 9 * * 6,7 echo weekend
0 0 */2 * 1 echo both
@hourly echo hourly
@daily echo daily
@weekly echo weekly
@monthly echo monthly
CRON_TZ=Asia/Tokyo
0 9 * * * echo tokyo
RANDOM_DELAY=15
0 4 * * * echo spread
0 5 29 2 * echo leap
5-10/2 0,12 * jan,jul * echo rare
`

  it('takes over a crontab of 20 lines, which fires, and a second import changes nothing', async () => {
    const file = join(folder, 'crontab')
    writeFileSync(file, crontab())
    const first = jsonOf<Imported>(
      await speak(['import', 'crontab', file, '--timezone', 'UTC', '--yes', '--json']),
    )
    expect(first).toMatchObject({ create: 20, change: 0, keep: 0 })
    expect(first.notes.map(({ text }) => text).join('\n')).toMatch(/MAILTO[^]*@reboot/)
    const wanted = { plain: 'good morning', fed: 'first line\nsecond % line\n', where: `${folder}\n` }
    for (const [name, text] of Object.entries(wanted)) {
      const path = join(folder, name)
      await until(() =>
        Promise.resolve(existsSync(path) && readFileSync(path, 'utf8').includes(text) ? true : null),
      )
    }
    // It is written anew each second: between emptied and written nothing is in it.
    const year = join(folder, 'year')
    await until(() =>
      Promise.resolve((existsSync(year) && /^\d{4}\n$/.test(readFileSync(year, 'utf8'))) || null),
    )

    const again = await speak(['import', 'crontab', file, '--timezone', 'UTC', '--yes', '--json'])
    expect(jsonOf<Imported>(again)).toMatchObject({ create: 0, change: 0, keep: 20 })
    const { data } = jsonOf<JobList>(await speak(['jobs', 'list', '--all', '--json']))
    expect(data).toHaveLength(20)
    expect(data.every(({ version }) => version === 1)).toBe(true)
    expect(data.find(({ timezone }) => timezone === 'Asia/Tokyo')).toBeDefined()
    expect(data.filter(({ jitter_seconds: jitter }) => jitter === 900)).toHaveLength(3)
  })

  it('shows a changed line field by field, and writes nothing in a dry run', async () => {
    const text = crontab().replace('15 2 * * * /usr', '15 3 * * * /usr')
    const options = { input: text }
    const { code, stdout } = await speak(
      ['import', 'crontab', '-', '--timezone', 'UTC', '--dry-run'],
      options,
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^~ backup-[0-9a-f]{6}\n {2}- schedule: 15 2 \* \* \*\n {2}\+ schedule: 15 3 \* \* \*\n1 to change, 19 unchanged\n$/,
    )
    const asked = await speak(['import', 'crontab', '-', '--timezone', 'UTC'], options)
    expect(asked.code).toBe(2)
    expect(asked.stderr).toContain('--yes')
    const done = await speak(['import', 'crontab', '-', '--timezone', 'UTC', '--yes'], options)
    expect(done.stdout).toContain('1 changed, 19 unchanged')
  })

  it('tells a mistake by its line, and what to write instead', async () => {
    const { code, stdout, stderr } = await speak(['import', 'crontab', '-', '--yes'], {
      input: '0 25 * * * late\n0 9 * * mon-fry work\n0 9 * *\n',
    })
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/stdin:1: late: '25' is not an hour \(0 to 23\)/)
    expect(stderr).toMatch(/stdin:2: work: 'FRY' in 'MON-FRY' is not a day of the week/)
    expect(stderr).toMatch(/stdin:3: a field is missing: 4 of the 5 fields/)
    expect(stderr).toContain('Nothing was written.')
  })
})

describe('carillon import k8s', () => {
  const manifest = (schedule: string, suspend: boolean) => `kind: CronJob
metadata: { name: nightly, namespace: shop }
spec:
  schedule: "${schedule}"
  suspend: ${suspend}
  jobTemplate: { spec: { template: { spec: { containers: [{ command: [/bin/true] }] } } } }
`

  it('takes over CronJobs with their suspension, and follows when either changes', async () => {
    const put = (text: string) => speak(['import', 'k8s', '-', '--yes', '--json'], { input: text })
    const get = async () => jsonOf<Job>(await speak(['jobs', 'get', 'shop/nightly', '--json']))
    expect(jsonOf(await put(manifest('0 1 * * *', true)))).toMatchObject({ create: 1 })
    expect(await get()).toMatchObject({ state: 'paused', max_retries: 6 })
    expect(jsonOf(await put(manifest('0 1 * * *', true)))).toMatchObject({ keep: 1 })
    expect(jsonOf(await put(manifest('0 2 * * *', false)))).toMatchObject({ change: 1 })
    expect(await get()).toMatchObject({ state: 'active', schedule: '0 2 * * *', version: 2 })
  })
})
