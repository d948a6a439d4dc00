// Installs the programs that some tests talk to and npm cannot give: Debian's packages, where apt and root are there.
// CI calls it before npm test. Elsewhere it says what is missing and ends well: the tests that need a part skip with a
// loud line, or fail where CARILLON_REQUIRE_ALL=1 says so. `--list` only tells what is there.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @type {readonly { command: string, package: string, why: string }[]} */
export const parts = [
  { command: 'chromium', package: 'chromium', why: 'the dashboard is tested in a real browser' },
  {
    command: 'promtool',
    package: 'prometheus',
    why: 'checks the alert rules of deploy/ and what /metrics says',
  },
  {
    command: 'prometheus-alertmanager',
    package: 'prometheus-alertmanager',
    why: 'takes the alerts that the server sends',
  },
]

/** Where a command stands, or null. */
export function pathOf(command) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, command)
    if (folder !== '' && existsSync(path)) return path
  }
  return null
}

function main() {
  const missing = parts.filter(({ command }) => pathOf(command) === null)
  for (const { command, why } of parts)
    console.log(`${command}: ${pathOf(command) ?? 'not installed'} (${why})`)
  if (missing.length === 0 || process.argv.includes('--list')) return
  const names = missing.map((part) => part.package)
  if (process.getuid?.() !== 0 || pathOf('apt-get') === null) {
    console.log(
      `\nAs root on Debian or Ubuntu: apt-get install -y --no-install-recommends ${names.join(' ')}`,
    )
    return
  }
  install(names)
  const still = missing.filter(({ command }) => pathOf(command) === null)
  for (const { command } of still) console.error(`✗ ${command} is still not installed`)
  process.exitCode = still.length === 0 ? 0 : 1
}

/** Package lists may be old or absent: they are fetched anew only when the first try fails. */
function install(names) {
  // Packages that are services would start them; here they are only programs.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const args = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', ...names]
  const first = spawnSync('apt-get', args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  if (first.status === 0) return
  try {
    execFileSync('apt-get', ['update'], { env, stdio: ['ignore', 'inherit', 'inherit'] })
    execFileSync('apt-get', args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  } catch (error) {
    console.error(`✗ apt-get: ${error.message}`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
