import { type FieldProblem, limits } from '@carillon/contract'
import { pointerOf, quoted } from './pointer.js'

/** Names that reach an object's prototype when a careless merge copies them. */
const refusedNames = new Set(['__proto__', 'constructor'])

/** A half of a surrogate pair that stands alone. Few texts have anything like it: the rest is told by one quick look. */
const surrogate = /[\ud800-\udfff]/
/** With the u flag a whole pair is one character. */
const loneSurrogate = /\p{Surrogate}/u

const mostProblems = 20

/**
 * What JSON can say and a jsonb column, or JavaScript, cannot hold: NUL, half a surrogate pair, a number beyond all
 * numbers, endless nesting. Refused at the door, with the place, before any rule looks at the value.
 */
export function inspectJson(root: unknown): FieldProblem[] {
  const problems: FieldProblem[] = []
  const path: (string | number)[] = []

  function visit(value: unknown): void {
    if (problems.length >= mostProblems) return
    if (typeof value === 'string') report(unstorable(value))
    else if (typeof value === 'number' && !Number.isFinite(value)) {
      report('is a number too large to be held; send it as a string')
    } else if (typeof value === 'object' && value !== null) visitContainer(value)
  }

  function visitContainer(container: object): void {
    if (path.length >= limits.jsonDepth) {
      report(`is nested too deeply: at most ${limits.jsonDepth} levels of arrays and objects are taken`)
      return
    }
    if (Array.isArray(container)) {
      for (const [index, item] of container.entries()) descend(index, item)
      return
    }
    for (const [name, item] of Object.entries(container)) {
      report(unstorableName(name))
      descend(name, item, refusedNames.has(name))
    }
  }

  function descend(step: string | number, value: unknown, refused = false): void {
    path.push(step)
    if (refused)
      report('has a name that is refused everywhere, because merging it can change what objects are')
    else visit(value)
    path.pop()
  }

  function report(message: string | null): void {
    if (message !== null && problems.length < mostProblems)
      problems.push({ pointer: pointerOf(path), message })
  }

  visit(root)
  return problems
}

/** Told of the object that has the field: a pointer with such a name in it could not be sent either. */
function unstorableName(name: string): string | null {
  const reason = unstorable(name)
  return reason === null ? null : `has a field named ${quoted(name)}, which ${reason}`
}

/** Why a text cannot be kept; null where it can. */
export function unstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'contains the character NUL (\\u0000), which cannot be stored'
  if (surrogate.test(text) && loneSurrogate.test(text))
    return 'contains half of a surrogate pair (\\ud800 to \\udfff), which is no text'
  return null
}
