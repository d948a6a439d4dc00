import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root } from './blocks.js'

export interface Link {
  line: number
  target: string
}

/** Links of a page to other places of the repository; fenced blocks and code in a line have none. */
export function linksOf(text: string): Link[] {
  const links: Link[] = []
  let fence = ''
  for (const [index, line] of text.split('\n').entries()) {
    const [, ticks = ''] = /^\s*(`{3,}|~{3,})/.exec(line) ?? []
    if (ticks !== '') fence = fence === '' ? ticks : ticks.startsWith(fence) ? '' : fence
    if (fence !== '' || ticks !== '') continue
    const plain = line.replace(/`[^`]*`/g, (code) => '`'.repeat(code.length))
    for (const [, target = ''] of plain.matchAll(/\]\(([^)\s]+)\)/g))
      if (!/^[a-z][a-z+.-]*:/.test(target)) links.push({ line: index + 1, target })
  }
  return links
}

/** The names by which headings can be linked to, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  const seen = new Map<string, number>()
  let fenced = false
  for (const line of text.split('\n')) {
    if (/^\s*(`{3,}|~{3,})/.test(line)) fenced = !fenced
    const heading = fenced ? undefined : /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1]
    for (const [, id = ''] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id)
    if (heading === undefined) continue
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

/** What is wrong with the links of a page; empty when each leads somewhere. */
export function brokenLinks(page: string): string[] {
  return linksOf(readFileSync(join(root, page), 'utf8')).flatMap(({ line, target }) => {
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? page : normalize(join(dirname(page), path))
    const full = join(root, file)
    if (!existsSync(full)) return [`${page}:${line}: there is no ${file}`]
    if (anchor === undefined || statSync(full).isDirectory()) return []
    if (anchorsOf(readFileSync(full, 'utf8')).has(anchor)) return []
    return [`${page}:${line}: ${file} has no heading #${anchor}`]
  })
}
