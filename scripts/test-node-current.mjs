// npm run test:node-current [-- MAJOR]: the tests on a current Node, taken from the npm registry, so that the floor in
// package.json does not quietly become the ceiling. Skips with a loud line where the registry has none for this
// platform; with CARILLON_REQUIRE_ALL=1 that is a failure.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const major = process.argv[2] ?? '24'
const platform = process.platform === 'win32' ? 'win' : process.platform
const packageName = `node-${platform}-${process.arch}`
const folder = mkdtempSync(join(tmpdir(), 'carillon-node-'))

try {
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-audit',
    '--no-fund',
    `${packageName}@${major}`,
  ]
  const installed = spawnSync('npm', args, { stdio: ['ignore', 2, 2] })
  const node = join(folder, 'node_modules', packageName, 'bin', 'node')
  if (installed.status !== 0 || !existsSync(node)) {
    console.error(`SKIPPED: no ${packageName}@${major} could be installed from the registry`)
    process.exitCode = process.env.CARILLON_REQUIRE_ALL === '1' ? 1 : 0
  } else {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    console.log(`testing on Node ${stdout.trim()}`)
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    // Processes that the tests start take `process.execPath`, so they run on this Node as well.
    const { status } = spawnSync(node, [vitest, 'run', ...process.argv.slice(3)], {
      cwd: root,
      stdio: 'inherit',
    })
    process.exitCode = status ?? 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
