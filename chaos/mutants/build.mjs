// A test build with one guard removed. The shipped code has no switch for this: a mutant is a copy of the built packages in
// a folder of its own, with some of its text replaced.
//   node chaos/mutants/build.mjs NAME     prints the folder; start it with FOLDER/packages/cli/bin/carillon.js
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mutants } from './catalogue.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Packages that a mutant may change, and those that import them. All others are used where they are. */
const copied = ['server', 'cli']

/** @typedef {{ file: string, from: string, to: string }} Edit of a built file, by its path below `packages/` */
/**
 * @typedef {object} Mutant
 * @property {string} guard what is taken away, in a sentence
 * @property {Edit[]} edits
 * @property {{ file: string, text: string }[]} [added] files that the ordinary build has not
 * @property {string[]} [schema] statements for the migrated database of the test
 * @property {{ by: string, edits: Edit[] }} [mask] another guard that would hide it, and goes with it
 */

/**
 * @param {string} name @param {{ into?: string, alone?: boolean }} [options] see `buildOf`
 * @returns {string} the folder of the build
 */
export function buildMutant(name, options) {
  return buildOf(name, mutantOf(name), options)
}

/**
 * Copies the built packages, changes the copy and answers its folder. Each text must be there exactly once: a mutant that
 * does not find its guard any more changes nothing, and would prove nothing.
 * @param {string} name @param {Mutant} mutant
 * @param {{ into?: string, alone?: boolean }} [options] `into`: an empty folder. `alone`: what hides the missing guard stays
 */
export function buildOf(name, mutant, { into = temporaryFolder(name), alone = false } = {}) {
  const { edits: own, added = [], mask } = mutant
  const edits = [...own, ...(alone ? [] : (mask?.edits ?? []))]
  try {
    for (const { file } of edits) requireBuilt(file)
    copyPackages(into)
    for (const edit of edits) change(join(into, 'packages', edit.file), edit, name)
    for (const { file, text } of added) add(join(into, 'packages', file), text, name)
  } catch (error) {
    fs.rmSync(into, { recursive: true, force: true })
    throw error
  }
  return into
}

/** @param {string} name @returns {Mutant} */
export function mutantOf(name) {
  const mutant = Object.hasOwn(mutants, name) ? mutants[name] : undefined
  if (mutant === undefined)
    throw new Error(`There is no mutant "${name}". There are ${Object.keys(mutants).join(', ')}.`)
  return mutant
}

/** The command of a build: of a mutant's folder, or of this checkout. */
export function commandOf(folder = root) {
  return join(folder, 'packages/cli/bin/carillon.js')
}

/**
 * What a mutant changes in the database, done to one that is migrated. A statement that finds nothing to change fails.
 * @param {string} name @param {{ query(text: string): Promise<unknown> }} client
 */
export async function changeSchema(name, client) {
  for (const text of mutantOf(name).schema ?? []) await client.query(text)
}

function temporaryFolder(name) {
  return fs.mkdtempSync(join(tmpdir(), `carillon-mutant-${name}-`))
}

function requireBuilt(file) {
  if (!fs.existsSync(join(root, 'packages', file)))
    throw new Error(`packages/${file} is not there: \`npm run build\` comes before a mutant.`)
}

function copyPackages(into) {
  for (const name of copied) {
    const from = join(root, 'packages', name)
    const to = join(into, 'packages', name)
    for (const part of ['bin', 'dist', 'migrations', 'schema.sql', 'package.json']) {
      if (fs.existsSync(join(from, part)))
        fs.cpSync(join(from, part), join(to, part), { recursive: true, filter })
    }
    if (fs.existsSync(join(from, 'node_modules')))
      fs.symlinkSync(join(from, 'node_modules'), join(to, 'node_modules'))
  }
  linkModules(into)
}

/** What runs, without what only readers and compilers use. */
function filter(path) {
  return !/\.(d\.ts|map|tsbuildinfo)$/.test(path)
}

/** Every dependency is where it was; the copied packages find each other before they find the originals. */
function linkModules(into) {
  const from = join(root, 'node_modules')
  const to = join(into, 'node_modules')
  fs.mkdirSync(join(to, '@carillon'), { recursive: true })
  for (const entry of fs.readdirSync(from)) {
    if (entry !== '@carillon' && entry !== '.bin') fs.symlinkSync(join(from, entry), join(to, entry))
  }
  for (const entry of fs.readdirSync(join(from, '@carillon'))) {
    const own = copied.includes(entry) ? join(into, 'packages', entry) : join(from, '@carillon', entry)
    fs.symlinkSync(own, join(to, '@carillon', entry))
  }
}

function change(path, { file, from, to }, name) {
  const text = fs.readFileSync(path, 'utf8')
  const found = text.split(from).length - 1
  if (found !== 1) {
    const what = `${name}: "${from.trim().split('\n')[0]}" is in ${file} ${found} times, not once.`
    throw new Error(`${what} The guard has changed: look for it and write the mutant anew.`)
  }
  fs.writeFileSync(
    path,
    text.replace(from, () => to),
  )
}

function add(path, text, name) {
  if (fs.existsSync(path)) throw new Error(`${name}: ${path} is there already.`)
  fs.writeFileSync(path, text)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name] = process.argv.slice(2)
  if (name === undefined) {
    for (const [one, { guard }] of Object.entries(mutants)) console.error(`${one.padEnd(28)} ${guard}`)
    console.error('usage: node chaos/mutants/build.mjs NAME')
    process.exit(2)
  }
  try {
    console.log(buildMutant(name))
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}
