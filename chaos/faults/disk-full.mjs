import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../clock.mjs'

/** The disk of the WAL is full. Postgres stops itself; once there is room it recovers, and all that was acknowledged is there. */
export default {
  name: 'disk-full',
  skip: ({ postgres }) => (postgres.walDisk ? null : 'this user may not mount a small disk for the WAL'),
  pick: ({ fleet }) => ({ victims: fleet.members }),
  async inject({ postgres }) {
    const ballast = join(postgres.walDisk, 'ballast')
    for (let megabytes = 1024; megabytes >= 1; megabytes /= 2) {
      while (
        spawnSync('fallocate', ['-l', `${megabytes}M`, `${ballast}-${megabytes}-${now()}`]).status === 0
      );
    }
    // What is made ahead of the WAL is used up, too.
    for (const end = Date.now() + 6_000; Date.now() < end && postgres.running; ) {
      await postgres.with((client) => client.query('SELECT pg_switch_wal()')).catch(() => undefined)
      await wait(100)
    }
    await wait(1_000)
  },
  async heal({ postgres, journal }) {
    spawnSync('sh', ['-c', 'rm -f "$0"/ballast*', postgres.walDisk])
    await wait(200)
    if (!postgres.running) await postgres.start()
    else await postgres.accepts(60_000).catch(() => postgres.start())
    journal.append({ database: 'up', at: now() })
  },
}
