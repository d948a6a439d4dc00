import { spawnSync } from 'node:child_process'

/**
 * Whether a program that npm cannot give is there. Where it is not, whoever asks skips, and says so loudly; with CARILLON_REQUIRE_ALL=1 that is a
 * failure.
 */
export function hasProgram(name: string, debianPackage: string): boolean {
  if (spawnSync(name, ['--version']).error === undefined) return true
  const missing = `${name} is not installed: node scripts/install-parts.mjs installs it (Debian package ${debianPackage})`
  if (process.env['CARILLON_REQUIRE_ALL'] === '1') throw new Error(missing)
  console.warn(`\n!!! SKIPPED: ${missing}; what it would check is not checked.\n`)
  return false
}

/** Runs it to its end. Answers what it said. */
export function runProgram(
  name: string,
  args: string[],
  input = '',
): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(name, args, { input, encoding: 'utf8' })
  return { status, said: `${stdout}${stderr}` }
}
