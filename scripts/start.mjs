// npm start: brings the build up to date, then runs `carillon up` in this same process, so that a signal sent
// to npm reaches the server. The script says `exec` for the same reason: otherwise the shell between npm and this
// process takes the signal, and keeps it.
import { build } from './build.mjs'

build()
process.argv.splice(2, 0, 'up')
await import('../packages/cli/bin/carillon.js')
