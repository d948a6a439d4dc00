// What people see while a benchmark runs: on stderr, one line at a time, so that stdout holds the result alone.
const terminal = process.stderr.isTTY === true
/** In a log nobody wants every step of a bar. */
const betweenMs = 5_000
let shown = ''
let shownAt = -betweenMs

/** The step that goes on now. On a terminal it takes the place of the one before. `passing`: one of many like it. */
export function progress(text, passing = false) {
  if (text === shown || (passing && !terminal && performance.now() - shownAt < betweenMs)) return
  shown = text
  shownAt = performance.now()
  process.stderr.write(terminal ? `\r\u001b[K${text}` : `${text}\n`)
}

/** A line that stays. */
export function say(text) {
  if (terminal && shown !== '') process.stderr.write('\r\u001b[K')
  shown = ''
  process.stderr.write(`${text}\n`)
}

/** What nobody should overlook. */
export function shout(text) {
  say(process.stderr.isTTY ? `\u001b[1;31m!! ${text}\u001b[0m` : `!! ${text}`)
}

export function progressDone() {
  if (terminal && shown !== '') process.stderr.write('\r\u001b[K')
  shown = ''
}
