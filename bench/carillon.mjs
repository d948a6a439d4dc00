// A real `carillon up` for a benchmark. Ends with it.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../packages/cli/bin/carillon.js', import.meta.url))

/** Answers when it is ready, with where it listens. Its warnings and errors go to stderr. */
export async function startCarillon(args, env = {}, nodeArgs = []) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON_'))
  const child = spawn(process.execPath, [...nodeArgs, command, 'up', '--json', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...Object.fromEntries(own), CARILLON_LOG_LEVEL: 'warn', ...env },
  })
  const exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  const ready = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    exited.then((code) => Promise.reject(new Error(`carillon up ended with ${code} before it was ready.`))),
  ])
  return {
    pid: child.pid,
    url: JSON.parse(ready).url,
    exited,
    async end() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
