// npm test: everything that must hold, in the order in which a mistake is cheapest to find. Ends with one line that
// counts the tests. `--only static` stops after the checks that start nothing.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name) => join(root, 'node_modules/.bin', name)
const staticOnly = process.argv.includes('static')

const checks = [
  ['build', process.execPath, ['scripts/build.mjs']],
  ['format', bin('biome'), ['format', '.']],
  ['types', bin('tsc'), ['-p', 'tsconfig.check.json']],
  ['lint', bin('eslint'), ['.', '--max-warnings', '0']],
  [
    'import rules',
    bin('depcruise'),
    ['packages/contract/src', 'packages/sdk/src', 'packages/server/src', 'packages/cli/src'],
  ],
  ['generated docs', process.execPath, ['scripts/generate-docs.mjs', '--check']],
]

for (const [name, command, args] of checks) run(name, command, args)
if (!staticOnly) test()

function run(name, command, args) {
  const begun = performance.now()
  process.stdout.write(`▸ ${name}\n`)
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    console.error(`✗ ${name} failed${error ? `: ${error.message}` : ''}`)
    process.exit(1)
  }
  process.stdout.write(`  ${((performance.now() - begun) / 1000).toFixed(1)} s\n`)
}

function test() {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-test-report-'))
  const report = join(folder, 'report.json')
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const { status } = spawnSync(bin('vitest'), args, { cwd: root, stdio: 'inherit' })
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'))
  rmSync(folder, { recursive: true, force: true })
  // CI counts the tests by this line.
  console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`)
  if (numPassedTests === 0) console.error('✗ no test ran')
  process.exit(status === 0 && numPassedTests > 0 ? 0 : 1)
}
