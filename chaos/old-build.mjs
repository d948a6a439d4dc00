// A build of an earlier commit, for a fleet that is upgraded while it runs: its own packages, everybody else's as installed here.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The command of this build. */
export const presentCommand = join(root, 'packages/cli/bin/carillon.js')

/** Answers the command of the old build. @param {string} revision that git knows @param {string} folder that is there */
export function buildRevision(revision, folder) {
  const home = join(folder, 'old-build')
  const archive = join(folder, 'old-build.tar')
  mkdirSync(home)
  execFileSync(
    'git',
    [
      'archive',
      '--output',
      archive,
      revision,
      'packages',
      'scripts',
      'tsconfig.json',
      'tsconfig.base.json',
      'package.json',
    ],
    { cwd: root },
  )
  execFileSync('tar', ['-xf', archive, '-C', home])
  linkDependencies(home)
  execFileSync(process.execPath, [join(home, 'scripts/build.mjs')], { stdio: ['ignore', 2, 2] })
  return join(home, 'packages/cli/bin/carillon.js')
}

/** As they are installed, but for our own packages. */
function linkDependencies(home) {
  const to = join(home, 'node_modules')
  mkdirSync(join(to, '@carillon'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@carillon') symlinkSync(join(root, 'node_modules', name), join(to, name))
  for (const name of readdirSync(join(home, 'packages')))
    symlinkSync(join(home, 'packages', name), join(to, '@carillon', name))
}
