// Asks the server every two seconds while somebody looks, and shows the answer.
import { viewerZone } from './format.js'
import { jobCells, noAnswer, runCells, serverState, showRows } from './view.js'

const refreshEvery = 2_000
const patience = 5_000
const mostJobs = 100
const mostRuns = 20

const place = (id) => document.getElementById(id)
let timer = null
let asking = null

async function ask(path, { acceptNotReady = false } = {}) {
  const answer = await fetch(path, {
    signal: AbortSignal.any([asking.signal, AbortSignal.timeout(patience)]),
  })
  const body = await answer.json()
  if (answer.ok || (acceptNotReady && answer.status === 503 && body.checks)) return { answer, body }
  throw new Error(body.detail ? `${body.detail} ${body.hint ?? ''}` : `${path} answered ${answer.status}`)
}

/** The job whose runs are shown. It stands in the address, so that a reload or a link keeps it. */
function chosenJob() {
  const id = decodeURIComponent(location.hash.slice(1))
  return /^job_[0-9a-z]+$/.test(id) ? id : null
}

async function showServer() {
  const { answer, body } = await ask('/readyz', { acceptNotReady: true })
  place('server').replaceChildren(...serverState({ ready: answer.ok, checks: body.checks }))
}

async function showJobs() {
  const { body } = await ask(`/api/v1/jobs?limit=${mostJobs}`)
  const chosen = chosenJob()
  const rows = body.data.map((job) => ({
    key: job.job_id,
    cells: jobCells(job),
    className: job.job_id === chosen ? 'chosen' : '',
  }))
  showRows(place('jobs'), rows)
  place('empty').hidden = rows.length > 0
  place('jobs-frame').hidden = rows.length === 0
  place('jobs-note').textContent = body.next_cursor ? `the first ${rows.length}; the API has them all` : ''
  return body.data
}

async function showRuns(jobs) {
  const id = chosenJob()
  place('runs-section').hidden = id === null
  if (id === null) return
  place('runs-heading').textContent = `Runs of ${jobs.find((job) => job.job_id === id)?.name ?? id}`
  const { body } = await ask(`/api/v1/jobs/${id}/runs?limit=${mostRuns}`)
  if (id !== chosenJob()) return
  showRows(
    place('runs'),
    body.map((run) => ({ key: run.run_id, cells: runCells(run) })),
  )
  place('runs-frame').hidden = body.length === 0
  place('runs-note').textContent = body.length === 0 ? 'none yet' : `the last ${body.length}`
}

/** What is on the page stays when the server is away, but is marked as old. */
function tellFailure(error) {
  const away = error instanceof TypeError || error.name === 'TimeoutError'
  if (away) place('server').replaceChildren(...noAnswer())
  place('notice').textContent = away
    ? 'The server does not answer. What is shown below is old; trying again every two seconds.'
    : error.message
  place('notice').hidden = false
  document.querySelector('main').classList.toggle('old', away)
}

async function refresh() {
  clearTimeout(timer)
  asking?.abort()
  const mine = new AbortController()
  asking = mine
  try {
    await showServer()
    await showRuns(await showJobs())
    place('notice').hidden = true
    document.querySelector('main').classList.remove('old')
  } catch (error) {
    if (mine !== asking || mine.signal.aborted) return // a later refresh has taken over
    tellFailure(error)
  }
  if (mine === asking && !document.hidden) timer = setTimeout(refresh, refreshEvery)
}

function choose(id) {
  location.hash = id ?? ''
}

place('jobs').addEventListener('click', (event) => {
  const id = event.target.closest('tr')?.dataset.key
  if (id) choose(id === chosenJob() ? null : id)
})
place('runs-close').addEventListener('click', () => {
  const row = [...place('jobs').rows].find(({ dataset }) => dataset.key === chosenJob())
  choose(null)
  row?.querySelector('button').focus()
})
addEventListener('hashchange', () => {
  showRows(place('runs'), [])
  refresh()
})
document.addEventListener('visibilitychange', () => (document.hidden ? clearTimeout(timer) : refresh()))

place('zone').textContent = viewerZone() === 'UTC' ? 'UTC' : `${viewerZone()}; hover for UTC`
place('try').textContent = [
  `curl ${location.origin}/api/v1/jobs \\`,
  `  -H 'Content-Type: application/json' \\`,
  `  -d '{"name": "hello", "schedule": "@every 10s"}'`,
].join('\n')
refresh()
