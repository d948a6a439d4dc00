// An append-only file of one JSON object a line. `sync` says when all that was appended is on the disk.
import { closeSync, fsync, fsyncSync, openSync, writeSync } from 'node:fs'

export class Journal {
  #file
  #waiting = []
  #lines = []
  #syncing = false

  /** @param {string} path */
  constructor(path) {
    this.#file = openSync(path, 'a')
  }

  /** @param {object} entry */
  append(entry) {
    this.#lines.push(JSON.stringify(entry))
  }

  /** Calls at once share one fsync. */
  sync() {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      if (!this.#syncing) this.#next()
    })
  }

  #next() {
    const waiting = this.#waiting.splice(0)
    this.#syncing = waiting.length > 0
    if (!this.#syncing) return
    this.#write()
    fsync(this.#file, (error) => {
      for (const { resolve, reject } of waiting) {
        if (error) reject(error)
        else resolve()
      }
      this.#next()
    })
  }

  #write() {
    if (this.#lines.length === 0) return
    writeSync(this.#file, `${this.#lines.splice(0).join('\n')}\n`)
  }

  close() {
    this.#write()
    fsyncSync(this.#file)
    closeSync(this.#file)
  }
}
