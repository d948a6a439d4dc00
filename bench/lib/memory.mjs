// Memory that is free. On a machine whose host takes free memory back and finds it anew when it is touched, a new page costs many times what it
// costs elsewhere, and who writes most pays most: figures then tell of the host. A server in service has hardly any memory free, since files that
// were read fill it. So where new pages are dear, free memory is filled that way before each turn, for everybody alike. Only Linux tells.
import { execFileSync } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, readFileSync, readSync } from 'node:fs'
import { totalmem } from 'node:os'
import { setImmediate as breathe } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { round } from './figures.mjs'

const toucher = fileURLToPath(new URL('touch-memory.mjs', import.meta.url))
const MB = 2 ** 20
const linux = process.platform === 'linux'
/** Microseconds for a new page from which on it is dear: where the kernel has it at hand, it is a fraction of one. */
const dearUs = 1
/** What is left free. The kernel itself keeps some tens of megabytes, and gives up clean pages of files when there are no more. */
const leftFreeBytes = 384 * MB
const stepBytes = 4 * MB

/**
 * Microseconds that it takes to touch a new page; null where nobody knows. Over so many that it goes beyond what was freed a moment ago: that
 * comes first, and the host has not taken it back yet. A small machine is spared.
 */
export function freshPageUs(bytes = Math.min(512 * MB, totalmem() / 16)) {
  if (!linux) return null
  return round(
    Number(execFileSync(process.execPath, [toucher, String(Math.floor(bytes))], { encoding: 'utf8' })),
    2,
  )
}

export function isDear(us) {
  return us !== null && us > dearUs
}

/** What is free in what /proc/meminfo says. */
export function freeBytesIn(meminfo) {
  const [, kb] = /^MemFree:\s+(\d+) kB$/m.exec(meminfo) ?? []
  return kb === undefined ? 0 : Number(kb) * 1_024
}

/** Fills free memory with pages of a file that has nothing in it and takes no room on the disk. */
export class MemoryFiller {
  #file
  #at = 0
  #free
  #step = Buffer.allocUnsafeSlow(stepBytes)

  constructor(path, free = () => freeBytesIn(readFileSync('/proc/meminfo', 'utf8'))) {
    this.#file = openSync(path, 'w+')
    this.#free = free
  }

  /** Goes on where it ended: what was read before is in memory, or was given up for something better. Returns how many bytes were read. */
  async fill() {
    const from = this.#at
    // Each page is read once, so it never takes more steps than there was room for, whatever others free meanwhile.
    let steps = Math.ceil((this.#free() - leftFreeBytes) / stepBytes)
    for (; steps > 0 && this.#free() > leftFreeBytes; steps--) {
      ftruncateSync(this.#file, this.#at + stepBytes)
      readSync(this.#file, this.#step, 0, stepBytes, this.#at)
      this.#at += stepBytes
      await breathe()
    }
    return this.#at - from
  }

  close() {
    closeSync(this.#file)
  }
}
