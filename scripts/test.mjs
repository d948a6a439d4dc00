// npm test: everything that must hold, in the order in which a mistake is cheapest to find. Ends with one line that
// counts the tests. `--only static` stops after the checks that start nothing.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name) => join(root, 'node_modules/.bin', name)
const staticOnly = process.argv.includes('static')

/** After the build, in two lanes: the slowest beside all others, which is what two cores can do. */
const build = ['build', process.execPath, ['scripts/build.mjs']]
const lanes = [
  [['lint', bin('eslint'), ['.', '--max-warnings', '0']]],
  [
    ['format', bin('biome'), ['format', '.']],
    ['types', bin('tsc'), ['-p', 'tsconfig.check.json']],
    ['types of the dashboard', bin('tsc'), ['-p', 'packages/dashboard']],
    [
      'import rules',
      bin('depcruise'),
      ['packages/contract/src', 'packages/sdk/src', 'packages/server/src', 'packages/cli/src'],
    ],
    ['generated docs', process.execPath, ['scripts/generate-docs.mjs', '--check']],
  ],
]

const going = new Set()

await run(build)
await Promise.all(
  lanes.map(async (lane) => {
    for (const check of lane) await run(check)
  }),
)
if (!staticOnly) test()

/** What it says is shown when it has ended, in one piece: another lane speaks, too. The first that fails ends all. */
async function run([name, command, args]) {
  const begun = performance.now()
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  going.add(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)))
  const why = await new Promise((resolve) => {
    child.once('error', (error) => resolve(`: ${error.message}`))
    child.once('close', (status) => resolve(status === 0 ? null : ''))
  })
  process.stdout.write(`▸ ${name}\n${said}`)
  going.delete(child)
  if (why !== null) {
    console.error(`✗ ${name} failed${why}`)
    for (const other of going) other.kill()
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
