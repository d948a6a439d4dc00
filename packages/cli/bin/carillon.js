#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const entry = new URL('../dist/main.js', import.meta.url)
if (!existsSync(fileURLToPath(entry))) {
  console.error(
    'carillon is not built yet. Run `npm run build` in its checkout (npm ci does it unless scripts are off).',
  )
  process.exit(1)
}
await import(entry.href)
