import { inspect } from 'node:util'
import { capText, storableJson, storableText } from './storable.js'

const resultBytes = 4_096
/** Quotes and backslashes double when JSON text is stored inside JSON: half of the room, less the note. */
const excerptBytes = 1_900
const errorBytes = 4_096
const stackLines = 5

/** A handler's result as JSON to be stored. What cannot be kept becomes a note: the work itself was done. */
export function keepResult(result: unknown): unknown {
  if (result === undefined || result === null || typeof result === 'boolean') return result ?? null
  const text = serialise(result)
  if (typeof text !== 'string') return { note: storableText(capText(text.problem, excerptBytes)) }
  const bytes = Buffer.byteLength(text)
  if (bytes <= resultBytes) return storableJson(JSON.parse(text))
  return {
    note: `The result is ${bytes} bytes of JSON, more than the ${resultBytes} that are kept: this is its start.`,
    excerpt: storableText(capText(text, excerptBytes)),
  }
}

function serialise(value: unknown): string | { problem: string } {
  try {
    // Undefined for a function or a symbol, although the types do not say so.
    const text = JSON.stringify(value) as string | undefined
    return text ?? { problem: `The result is a ${typeof value}, which JSON has no form for; it is not kept.` }
  } catch (error) {
    return { problem: `The result cannot be written as JSON, and is not kept: ${messageOf(error)}` }
  }
}

/** Message and the first lines of the stack: enough to find the place, small enough to store with every run. */
export function describeThrown(thrown: unknown): string {
  return storableText(capText(fullText(thrown), errorBytes))
}

function fullText(thrown: unknown): string {
  const message = messageOf(thrown)
  const frames = stackOf(thrown)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, stackLines)
  // The message is capped by itself, so that a long one leaves room for the place.
  return [capText(message, errorBytes / 2), ...frames].join('\n')
}

/** Anything can be thrown, and looking at it runs code of the task: that code may throw again. */
function messageOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return typeof thrown === 'string' ? thrown : inspect(thrown)
    return thrown.message === '' ? thrown.name : thrown.message
  } catch {
    return 'an error that cannot be read'
  }
}

function stackOf(thrown: unknown): string {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : ''
  } catch {
    return ''
  }
}
