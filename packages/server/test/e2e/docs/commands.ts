export interface Command {
  text: string
  /** What the page shows below it; undefined where it shows nothing. */
  output: string | undefined
}

/** The commands of a block for a shell. In `console` they begin with `$`, and what it prints stands below them. */
export function commandsOf(language: string, code: string): Command[] {
  const session = language === 'console'
  const commands: Command[] = []
  let text = ''
  let output: string[] = []
  const push = () => {
    if (text !== '')
      commands.push({ text, output: output.join('\n').trim() === '' ? undefined : output.join('\n') })
    text = ''
    output = []
  }
  for (const line of code.trimEnd().split('\n')) {
    if (text !== '' && !isComplete(text)) text += `\n${line}`
    else if (session && !line.startsWith('$ ')) output.push(line)
    else if (line.trim() !== '' && !line.startsWith('#')) {
      push()
      text = session ? line.slice(2) : line
    }
  }
  if (session && text === '') throw new Error('A console block begins with a command: $ …')
  if (!isComplete(text)) throw new Error(`The last command is not complete: ${text}`)
  push()
  return commands
}

/** Whether a shell would run it now, or wait for more: a quote is open, or the line goes on. */
function isComplete(text: string): boolean {
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? ''
    if (quote === '' && char === '#' && /\s/.test(text[at - 1] ?? ' ')) {
      at = text.indexOf('\n', at)
      if (at === -1) return true
    } else if (char === '\\' && quote !== "'") {
      if (at + 1 >= text.length) return false
      at += 1
    } else if (quote === '' && (char === "'" || char === '"')) quote = char
    else if (char === quote) quote = ''
  }
  return quote === ''
}

export interface HttpCall {
  method: string
  path: string
  body: string | undefined
  /** The answer that the page shows behind `→`. */
  status: number | undefined
  answer: string | undefined
}

/** The calls of an `http` block: method and path, the body behind them or below, and after → what is answered. */
export function callsOf(code: string): HttpCall[] {
  const calls: HttpCall[] = []
  for (const line of code.trimEnd().split('\n')) {
    const call = /^(GET|POST|PUT|PATCH|DELETE)\s+(\S+)(?:\s+(.*))?$/.exec(line)
    const answer = /^\s*→ (\d{3})(?:\s+(.*))?$/.exec(line)
    const last = calls.at(-1)
    if (call !== null) {
      const [, method = '', path = '', rest = ''] = call
      // Behind the path stands the body, or a word to the reader.
      const body = rest.startsWith('{') ? rest : undefined
      calls.push({ method, path, body, status: undefined, answer: undefined })
    } else if (last === undefined) throw new Error(`An http block begins with a method and a path: ${line}`)
    else if (answer !== null) {
      last.status = Number(answer[1])
      last.answer = answer[2]
    } else last.body = (last.body ?? '') + line
  }
  return calls
}
