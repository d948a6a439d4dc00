// Shifts the wall clock of processes while they run: a shim between them and the C library, built here.
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('./clockshim.c', import.meta.url))

/** The built library; null where there is no compiler, or no such system. @param {string} folder */
export function buildClockShim(folder) {
  if (process.platform !== 'linux') return null
  const library = join(folder, 'clockshim.so')
  const { status } = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'])
  return status === 0 ? library : null
}

/** One clock that can be shifted: the environment that makes a process see it, and the shift. */
export class ShiftedClock {
  shiftMs = 0

  /** @param {string | null} library @param {string} file */
  constructor(library, file) {
    this.library = library
    this.file = file
    writeFileSync(file, Buffer.alloc(8))
    chmodSync(file, 0o644)
  }

  get env() {
    return this.library === null ? {} : { LD_PRELOAD: this.library, CLOCKSHIM_FILE: this.file }
  }

  /** @param {number} ms */
  shift(ms) {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(Math.round(ms)) * 1_000_000n)
    const file = openSync(this.file, 'r+')
    writeSync(file, bytes, 0, 8, 0)
    closeSync(file)
    this.shiftMs = ms
  }
}
