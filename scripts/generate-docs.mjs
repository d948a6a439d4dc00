// npm run docs: writes the reference pages that are derived from tables in the code. They are read from the build, so
// build first. With --check nothing is written: a page that differs from what is committed is named, and the exit
// code is 1.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const projectRoot = fileURLToPath(new URL('..', import.meta.url))

/** One entry per page: the file, the built module, and which of its functions returns the page's text. */
export const pages = [
  {
    file: 'docs/reference/configuration.md',
    module: 'packages/server/dist/config.js',
    render: (built) => built.renderConfigurationReference(),
  },
  {
    file: 'docs/reference/metrics.md',
    module: 'packages/server/dist/platform/metrics-page.js',
    render: (built) => built.renderMetricsReference(),
  },
  {
    file: 'docs/reference/errors.md',
    module: 'packages/contract/dist/index.js',
    render: (built) => built.renderErrorReference(),
  },
  {
    file: 'docs/reference/api.md',
    module: 'packages/server/dist/http/reference/index.js',
    render: (built) => built.apiReferencePage(),
  },
  {
    file: 'docs/reference/cli.md',
    module: 'packages/cli/dist/reference.js',
    render: (built) => built.renderCliReference(),
  },
]

/** Returns the files that differed, after writing them unless `check` is set. */
export async function generate({ root = projectRoot, check, entries = pages }) {
  const differing = []
  for (const { file, module, render } of entries) {
    const source = join(root, module)
    if (!existsSync(source))
      throw new Error(`${file} is made from ${module}, which is not built: run npm run build`)
    const text = await render(await import(pathToFileURL(source).href))
    const target = join(root, file)
    if (existsSync(target) && readFileSync(target, 'utf8') === text) continue
    differing.push(file)
    if (check) continue
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  return differing
}

/** Returns the exit code. */
async function main(args) {
  const unknown = args.filter((arg) => arg !== '--check')
  if (unknown.length > 0) {
    console.error(`generate-docs knows no ${unknown.join(' ')}: only --check, or nothing`)
    return 2
  }
  const check = args.includes('--check')
  const differing = await generate({ check })
  for (const file of differing) {
    if (check)
      console.error(`${file} is not what the code says: run npm run build && npm run docs, and commit it`)
    else console.log(`wrote ${file}`)
  }
  return check && differing.length > 0 ? 1 : 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
