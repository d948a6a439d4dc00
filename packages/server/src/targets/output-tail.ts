import { capText, storableText } from './storable.js'

/** The last bytes of an output of any length, in a bounded buffer. */
export class OutputTail {
  private kept = Buffer.alloc(0)
  received = 0

  constructor(private readonly mostBytes: number) {}

  add(chunk: Uint8Array): void {
    this.received += chunk.length
    const old = this.mostBytes - chunk.length
    const start = old > 0 ? this.kept.subarray(-old) : Buffer.alloc(0)
    // Copied, so that what is kept does not hold the whole chunk in memory.
    this.kept = Buffer.concat([start, chunk.subarray(-this.mostBytes)])
  }

  get truncated(): boolean {
    return this.received > this.kept.length
  }

  /** Begins with a whole character: one that the cut went through is dropped. */
  get text(): string {
    let from = 0
    if (this.truncated) while (from < 3 && isContinuation(this.kept[from])) from++
    const decoded = new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.kept.subarray(from))
    return capTail(storableText(decoded), this.mostBytes)
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** A replacement character has three bytes where the bad byte was one: the text may have outgrown its bound. */
function capTail(text: string, mostBytes: number): string {
  if (Buffer.byteLength(text) <= mostBytes) return text
  const characters = [...text].reverse().join('')
  return [...capText(characters, mostBytes)].reverse().join('')
}
