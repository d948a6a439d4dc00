// Carillon's own proof of the same span: `carillon verify --json`, as an operator runs it.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../packages/cli/bin/carillon.js', import.meta.url))

/** Its answer, with the code that it ended with. */
export function verify(databaseUrl, from, to) {
  const iso = (instant) => new Date(instant).toISOString()
  const args = [command, 'verify', '--from', iso(from), '--to', iso(to), '--json']
  const options = { env: { ...process.env, DATABASE_URL: databaseUrl }, maxBuffer: 64 * 1024 * 1024 }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const text = stdout.trim()
      if (text === '')
        return reject(new Error(`carillon verify said nothing: ${error?.message ?? ''} ${stderr}`))
      resolve({ ...JSON.parse(text), exit_code: error === null ? 0 : (error.code ?? null) })
    })
  })
}
