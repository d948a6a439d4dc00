import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Snippet {
  /** The heading above it, and which one it is below that. */
  title: string
  code: string
}

/** The fenced blocks of a language on a page of docs/. */
export function snippetsOf(page: string, language: string): Snippet[] {
  const text = readFileSync(new URL(`../../../../../docs/${page}`, import.meta.url), 'utf8')
  const snippets: Snippet[] = []
  let heading = page
  for (const [, title, info, code] of text.matchAll(/^#+ (.*)$|^```(\S.*)\n([^]*?)^```$/gm)) {
    if (title !== undefined) heading = title
    if (info !== language || code === undefined) continue
    snippets.push({ title: heading, code })
  }
  return snippets
}

/** Where modules can be put that import our packages. */
const folder = fileURLToPath(new URL(`../.snippets-${process.pid}/`, import.meta.url))
let modules = 0

/** Runs a snippet as a module, with the address of a server in place of the one that the docs have. */
export async function runSnippet({ code }: Snippet, url: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `snippet-${modules++}.ts`)
  writeFileSync(file, code.replaceAll('http://localhost:7420', url))
  try {
    await import(/* @vite-ignore */ file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
