// A Redis for BullMQ: the one on the PATH, or Debian's, unpacked into the cache without installing it. AOF, fsync every
// second: what BullMQ's guide asks for in production. (Postgres syncs at every commit; that is in Redis' favour.)
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { cache } from './cache.mjs'
import { progress } from './progress.mjs'

const packages = [
  ...['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'liblua5.1-0', 'lua-bitop'],
  ...['lua-cjson', 'libhiredis0.14', 'libatomic1'],
]

export class RedisMissing extends Error {
  name = 'RedisMissing'
}

/** Starts it on a free port with its data in `folder`. */
export async function startRedis(folder) {
  const { program, env } = findRedis()
  mkdirSync(folder, { recursive: true })
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await Promise.race([
    answers(port),
    exited.then(() => Promise.reject(new Error('redis-server ended at its start.'))),
  ])
  return {
    host: '127.0.0.1',
    port,
    pid: child.pid,
    version: /v=(\S+)/.exec(execFileSync(program, ['--version'], { env, encoding: 'utf8' }))?.[1],
    async end() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Whether one can be had without loading anything. */
export function redisAtHand() {
  return onPath() || existsSync(join(cache, 'redis', 'usr/bin/redis-server'))
}

function onPath() {
  return spawnSync('redis-server', ['--version']).status === 0
}

function findRedis() {
  if (onPath()) return { program: 'redis-server', env: process.env }
  const home = join(cache, 'redis')
  if (!existsSync(join(home, 'usr/bin/redis-server'))) unpack(home)
  const library = readdirSync(join(home, 'usr/lib')).find((name) => name.endsWith('-linux-gnu')) ?? ''
  return {
    program: join(home, 'usr/bin/redis-server'),
    env: { ...process.env, LD_LIBRARY_PATH: join(home, 'usr/lib', library) },
  }
}

function unpack(home) {
  progress('loading Redis from Debian into the cache')
  const fresh = `${home}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  try {
    execFileSync('apt-get', ['download', ...packages], { cwd: fresh, stdio: ['ignore', 'ignore', 'pipe'] })
    for (const name of readdirSync(fresh).filter((each) => each.endsWith('.deb')))
      execFileSync('dpkg-deb', ['-x', name, '.'], { cwd: fresh })
    renameSync(fresh, home)
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    throw new RedisMissing(
      `There is no redis-server on the PATH, and Debian's could not be loaded (${String(error.message).split('\n')[0]}). ` +
        'Install Redis 7, or leave BullMQ out: --peers graphile-worker,pg-boss',
    )
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

async function answers(port) {
  const { connect } = await import('node:net')
  for (let tries = 0; tries < 200; tries++) {
    const answered = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
      socket.once('data', (data) => {
        socket.destroy()
        resolve(String(data).startsWith('+PONG'))
      })
      socket.once('error', () => resolve(false))
    })
    if (answered) return
    await wait(50)
  }
  throw new Error(`Redis does not answer on port ${port}.`)
}
