// Builds every package: compiles TypeScript and puts the .sql files beside the compiled stages.
// Several builds may start at once (npm ci in one shell, npm start in another): they take turns, and the
// later ones find nothing left to do.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const lock = join(root, '.build.lock')

export function build() {
  takeTurn()
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-b', join(root, 'tsconfig.json')], { stdio: ['ignore', 2, 2] })
    copyStatements(join(root, 'packages/server/src'), join(root, 'packages/server/dist'))
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

function takeTurn() {
  for (;;) {
    try {
      mkdirSync(lock)
      writeFileSync(join(lock, 'pid'), String(process.pid))
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (holderIsGone()) rmSync(lock, { recursive: true, force: true })
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    }
  }
}

function holderIsGone() {
  try {
    process.kill(Number(readFileSync(join(lock, 'pid'), 'utf8')), 0)
    return false
  } catch (error) {
    if (error.code === 'EPERM') return false
    // Between mkdir and the pid file there is an instant without a pid: only an old lock counts as left behind.
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    return error.code === 'ESRCH' || age > 10_000
  }
}

function copyStatements(from, to) {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.sql')) continue
    const source = join(entry.parentPath, entry.name)
    const target = join(to, relative(from, source))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(source, target)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    build()
  } catch (error) {
    // tsc has printed what is wrong; anything else is ours to explain.
    if (error.status === undefined) console.error(error)
    process.exit(1)
  }
}
