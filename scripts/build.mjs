// Builds every package: compiles TypeScript and puts the .sql files beside the compiled stages.
// Several builds may start at once (npm ci in one shell, npm start in another): they take turns, and the
// later ones find nothing left to do.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = fileURLToPath(new URL('..', import.meta.url))
const lock = join(root, '.build.lock')

export function build() {
  takeTurn()
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-b', join(root, 'tsconfig.json')], { stdio: ['ignore', 2, 2] })
    copyStatements(join(root, 'packages/server/src'), join(root, 'packages/server/dist'))
    buildDashboard()
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

/** What the page is made of: its own sources, the client that it calls with, and what builds it. */
const pageSources = ['packages/dashboard', 'packages/sdk/src', 'package-lock.json']

/** Bundled anew only when something that it is made of has changed. */
function buildDashboard() {
  const dist = join(root, 'packages/dashboard/dist')
  const mark = join(dist, '.built-from')
  const digest = digestOf(pageSources)
  if (statSync(mark, { throwIfNoEntry: false }) && readFileSync(mark, 'utf8') === digest) return
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  const cwd = join(root, 'packages/dashboard')
  execFileSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], { cwd, stdio: ['ignore', 2, 2] })
  for (const file of filesBelow(dist)) compress(file)
  writeFileSync(mark, digest)
}

function digestOf(paths) {
  const hash = createHash('sha256')
  for (const file of paths.flatMap((path) => filesBelow(join(root, path)))) {
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

function filesBelow(path) {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() &&
        !/[/\\](dist|node_modules)([/\\]|$)/.test(relative(path, entry.parentPath).replace(/^/, '/')),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** Once, as small as it gets, so that the server does not do it at every request. */
function compress(file) {
  if (!/\.(js|css|html|svg)$/.test(file)) return
  const content = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }))
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
