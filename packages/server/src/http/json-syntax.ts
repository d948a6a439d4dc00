/** Where a text stops being JSON, for people: JSON.parse does not always say it. */
export interface SyntaxProblem {
  line: number
  column: number
  message: string
}

type Expectation = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing'

const expected: Record<Expectation, string> = {
  value: 'a value',
  'value or end': 'a value or "]"',
  name: 'a field name in double quotes',
  'name or end': 'a field name in double quotes or "}"',
  colon: '":" after the field name',
  'comma or end': '"," or the end of the array or object',
  nothing: 'nothing more after the value',
}

const blank = /[ \t\n\r]*/y
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.+-])/y
const word = /(?:true|false|null)(?![0-9A-Za-z_$])/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** Null when no fault is found. Works without recursion, since nesting is the sender's choice. */
export function locateSyntaxProblem(text: string): SyntaxProblem | null {
  const open: ('[' | '{')[] = []
  let expectation: Expectation = 'value'
  let at = 0
  for (;;) {
    at = matchEnd(blank, text, at) ?? at
    const char = text[at]
    if (char === undefined) {
      return expectation === 'nothing' ? null : problemAt(text, at, `expected ${expected[expectation]}`)
    }
    const step = advance(text, at, char, expectation, open)
    if ('message' in step) return problemAt(text, step.at, step.message)
    at = step.at
    expectation = step.next
  }
}

type Step = { at: number; next: Expectation } | { at: number; message: string }

function advance(
  text: string,
  at: number,
  char: string,
  expectation: Expectation,
  open: ('[' | '{')[],
): Step {
  const innermost = open.at(-1)
  const closes = char === ']' ? '[' : '{'
  if ((char === ']' || char === '}') && expectation.endsWith('or end') && innermost === closes) {
    open.pop()
    return { at: at + 1, next: afterValue(open) }
  }
  if (expectation === 'colon' && char === ':') return { at: at + 1, next: 'value' }
  if (expectation === 'comma or end' && char === ',') {
    return { at: at + 1, next: innermost === '{' ? 'name' : 'value' }
  }
  if (expectation.startsWith('name') && char === '"') {
    const end = stringEnd(text, at)
    return typeof end === 'number' ? { at: end, next: 'colon' } : end
  }
  if (expectation.startsWith('value')) return value(text, at, char, expectation, open)
  return { at, message: `expected ${expected[expectation]}` }
}

function value(text: string, at: number, char: string, expectation: Expectation, open: ('[' | '{')[]): Step {
  if (char === '[' || char === '{') {
    open.push(char)
    return { at: at + 1, next: char === '[' ? 'value or end' : 'name or end' }
  }
  if (char === '"') {
    const end = stringEnd(text, at)
    return typeof end === 'number' ? { at: end, next: afterValue(open) } : end
  }
  const end = matchEnd(number, text, at) ?? matchEnd(word, text, at)
  if (end !== null) return { at: end, next: afterValue(open) }
  return { at, message: `expected ${expected[expectation]}` }
}

function afterValue(open: readonly string[]): Expectation {
  return open.length === 0 ? 'nothing' : 'comma or end'
}

function stringEnd(text: string, start: number): number | { at: number; message: string } {
  let at = start + 1
  for (;;) {
    const char = text[at]
    if (char === undefined)
      return { at: start, message: 'the text that begins here is not closed with a double quote' }
    if (char === '"') return at + 1
    if (char < ' ') return { at, message: 'a line break or control character in a text must be escaped' }
    if (char === '\\') {
      const end = matchEnd(escape, text, at)
      if (end === null) return { at, message: 'this is not an escape that JSON knows' }
      at = end
    } else at++
  }
}

function matchEnd(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : null
}

function problemAt(text: string, at: number, message: string): SyntaxProblem {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - (before.lastIndexOf('\n') + 1) + 1
  const found =
    text[at] === undefined
      ? ', found the end of the body'
      : `, found ${JSON.stringify(firstCharacter(text, at))}`
  return { line, column, message: message.startsWith('expected') ? message + found : message }
}

function firstCharacter(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0)
}
