import { concepts } from './pages/concepts.js'
import { guides } from './pages/guides.js'
import { operate } from './pages/operate.js'
import { readme } from './pages/readme.js'
import type { SetUp } from './set-up.js'

/** By page. One that is not here needs nothing but a server. */
export const setUps: Readonly<Record<string, SetUp>> = { ...readme, ...concepts, ...guides, ...operate }
