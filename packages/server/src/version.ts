import { readFileSync } from 'node:fs'

const packageFile = new URL('../package.json', import.meta.url)

/** The version of the code, as its package says. */
export const version: string = (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version
