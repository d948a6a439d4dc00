// Runs histories of the simulated fleet, without a test runner: `npm run simulate -- --seed S --histories N`.
// What it finds it tells with the command that repeats it; exit code 1 when a promise was broken.
//
// The sources are put together into one file first: a history is made of small steps, and going through a module's door for
// each of them takes a good part of the time.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, defaultServerConditions } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const conditions = ['carillon:source', ...defaultServerConditions]

/** Sources find their .sql files beside themselves, wherever they are put together. */
const whereTheyStand = {
  name: 'where they stand',
  transform: (code, id) =>
    code.includes('import.meta.url')
      ? { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null }
      : null,
}

// Beside the packages that are left outside, so that they are found from there.
const folder = mkdtempSync(join(root, 'node_modules', '.simulation-'))
try {
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [whereTheyStand],
    resolve: { conditions },
    ssr: { resolve: { conditions }, external: true, noExternal: [/^@carillon\//] },
    build: {
      ssr: 'packages/server/test/simulation/command.ts',
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      target: 'node20',
    },
  })
  const { main } = await import(pathToFileURL(join(folder, 'command.js')).href)
  process.exitCode = await main(process.argv.slice(2))
} finally {
  rmSync(folder, { recursive: true })
}
