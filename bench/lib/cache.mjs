// What a benchmark loads from elsewhere is kept beside it, outside of version control.
import { fileURLToPath } from 'node:url'

export const cache = fileURLToPath(new URL('../.cache', import.meta.url))
