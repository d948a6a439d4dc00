// What the server said, as elements. Everything it said becomes text, never markup: names are strangers' words.
import { duration, instant, relative, utc } from './format.js'

const jobStates = {
  active: ['●', 'good'],
  paused: ['‖', 'warn'],
  ended: ['■', 'muted'],
}

const runStatuses = {
  pending: ['◷', 'busy'],
  running: ['▶', 'busy'],
  success: ['✓', 'good'],
  failed: ['✗', 'bad'],
  dead: ['✗', 'bad'],
  stale: ['≠', 'warn'],
  skipped: ['–', 'muted'],
  cancelled: ['⊘', 'muted'],
}

function element(tag, className, ...children) {
  const made = document.createElement(tag)
  if (className) made.className = className
  made.append(...children)
  return made
}

function marked([icon, colour], words) {
  const symbol = element('span', '', icon)
  symbol.setAttribute('aria-hidden', 'true')
  return element('span', `status ${colour}`, symbol, ` ${words}`)
}

function time(iso) {
  const made = element('time', '', instant(iso))
  made.dateTime = iso
  made.title = utc(iso)
  return made
}

export function serverState(readiness) {
  const { ready, checks } = readiness
  const failing = Object.entries(checks).filter(([, check]) => !check.ok)
  const passing = Object.keys(checks).filter((name) => checks[name].ok)
  const state = ready ? marked(['●', 'good'], 'Ready') : marked(['✗', 'bad'], 'Not ready')
  return [
    state,
    ...failing.map(([name, { detail }]) => marked(['✗', 'bad'], detail ? `${name}: ${detail}` : name)),
    ...passing.map((name) => marked(['✓', 'good'], name)),
  ]
}

export function noAnswer() {
  return [marked(['✗', 'bad'], 'No answer')]
}

/** Cells of a job. The name is a button, so that the keyboard reaches what a click on the row does. */
export function jobCells(job) {
  const name = element('button', 'name', job.name)
  name.type = 'button'
  const next = job.next_run_at
    ? [time(job.next_run_at), element('span', 'aside', relative(job.next_run_at))]
    : [element('span', 'muted', 'none ahead')]
  return [
    [name],
    [
      element('code', '', typeof job.schedule === 'string' ? job.schedule : JSON.stringify(job.schedule)),
      element('span', 'aside', job.timezone),
    ],
    next,
    [marked(jobStates[job.state] ?? ['?', 'muted'], job.state)],
    job.warnings.map(({ message }) => element('div', 'warn', `⚠ ${message}`)),
  ]
}

export function runCells(run) {
  const status = [marked(runStatuses[run.status] ?? ['?', 'muted'], run.status)]
  if (run.catch_up) status.push(element('span', 'aside', 'caught up'))
  const scheduled = [time(run.scheduled_at)]
  if (run.skipped_until) {
    scheduled.push(
      element('span', 'aside', `${run.skipped_count ?? ''} ticks, until `, time(run.skipped_until)),
    )
  }
  const lag = run.started_at ? duration(new Date(run.started_at) - new Date(run.scheduled_at)) : '–'
  const attempts = run.max_attempts === null ? `${run.attempt}` : `${run.attempt} of ${run.max_attempts}`
  const why = [run.error, run.reason].filter((words) => words !== null)
  return [
    status,
    scheduled,
    [lag],
    [attempts],
    why.map((words, index) => element('div', index > 0 ? 'aside' : '', words)),
  ]
}

/**
 * Brings the rows of a table to the given list. A cell that says the same keeps its elements: the focus, the
 * selection and the tooltip under the pointer survive the refresh.
 */
export function showRows(body, rows) {
  const present = new Map([...body.rows].map((row) => [row.dataset.key, row]))
  for (const [index, { key, cells, className }] of rows.entries()) {
    const row = present.get(key) ?? element('tr')
    present.delete(key)
    row.dataset.key = key
    row.className = className ?? ''
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null)
    for (const [column, content] of cells.entries()) showCell(row, column, content)
  }
  for (const row of present.values()) row.remove()
}

function showCell(row, column, content) {
  const cell = row.cells[column] ?? row.insertCell()
  const fresh = element('td', '', ...content)
  if (cell.isEqualNode(fresh)) return
  cell.replaceChildren(...fresh.childNodes)
}
