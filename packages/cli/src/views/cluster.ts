import type { Brake, ClusterView, Event } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

type Node = ClusterView['nodes'][number]
type RemoteWorker = ClusterView['workers']['data'][number]
type Partition = ClusterView['partitions'][number]

export function clusterText(view: ClusterView, look: Look, allPartitions: boolean): string {
  const parts = [nodeTable(view.nodes, look), renderFacts(factsOf(view, look), look)]
  if (view.workers.alive > 0) parts.push(workerTable(view.workers, look))
  if (view.brake !== null) parts.push(brakeText(view.brake, look))
  if (view.events.length > 0) parts.push(eventTable(view.events, look))
  if (allPartitions) parts.push(partitionTable(view.partitions, look))
  return parts.join('\n')
}

function nodeTable(nodes: readonly Node[], look: Look): string {
  if (nodes.length === 0)
    return `${look.colors.yellow('! No process is alive: nothing fires and nothing runs.')}\n`
  return renderTable<Node>(
    [
      { title: 'NODE', cell: ({ node }) => visible(node) },
      {
        title: 'STATE',
        cell: ({ state }) => `${symbols[state]} ${state}`,
        paint: (text, { state }) => paintStatus(text, paints[state], look.colors),
      },
      { title: 'ROLES', cell: ({ roles }) => visible(roles.join(',')) },
      { title: 'HOST', cell: ({ host, pid }) => `${visible(host)}:${pid}`, least: 12 },
      { title: 'BEAT', cell: (node) => (node.state === 'alive' ? `${duration(node.beat_age_ms)} ago` : '–') },
      { title: 'PARTITIONS', cell: ({ partitions }) => String(partitions) },
      { title: 'REPORT', cell: ({ report }) => reportText(report), least: 10 },
      { title: 'VERSION', cell: ({ code_version: version }) => visible(version), optional: true },
      { title: `SINCE (${look.timeZone})`, cell: (node) => when(node.started_at, look), optional: true },
    ],
    nodes,
    look,
  )
}

/** Workers over HTTP; of very many the latest. */
function workerTable({ alive, data }: ClusterView['workers'], look: Look): string {
  const table = renderTable<RemoteWorker>(
    [
      { title: 'WORKER', cell: ({ worker_id: id }) => visible(id) },
      { title: 'NAME', cell: ({ name }) => visible(name), least: 8 },
      { title: 'TASKS', cell: ({ tasks }) => visible(tasks.join(',')), least: 10 },
      { title: 'RUNS', cell: ({ runs }) => String(runs) },
      { title: 'BEAT', cell: (worker) => `${duration(worker.beat_age_ms)} ago` },
      { title: `SINCE (${look.timeZone})`, cell: (worker) => when(worker.started_at, look), optional: true },
    ],
    data,
    look,
  )
  return alive > data.length ? `${table}${alive - data.length} more workers over HTTP\n` : table
}

const symbols: Readonly<Record<Node['state'], string>> = { alive: '●', left: '○', dead: '✗' }
const paints: Readonly<Record<Node['state'], string>> = { alive: 'active', left: 'ended', dead: 'dead' }

/** What a process says of itself, whatever it is: a newer one may say more. */
function reportText(report: Record<string, unknown>): string {
  return visible(
    Object.entries(report)
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(' '),
  )
}

function factsOf(view: ClusterView, { colors }: Look): [string, string][] {
  const { queue, replays, unowned, partitions } = view
  const owned = `${partitions.length - unowned} of ${partitions.length} owned`
  const epochs = partitions.map(({ epoch }) => epoch)
  const range = epochs.length === 0 ? '' : `; epochs ${Math.min(...epochs)} to ${Math.max(...epochs)}`
  const lag =
    view.lag_ms === 0 ? 'none: nothing is due' : `${duration(view.lag_ms)}, in ${view.timers_due} partitions`
  const oldest = queue.ready === 0 ? '' : `, the oldest for ${duration(queue.oldest_ready_ms)}`
  const waiting = queue.waiting === 0 ? '' : `, ${queue.waiting} wait for a place or a host`
  const parked = queue.parked === 0 ? '' : `, ${queue.parked} parked`
  return [
    [
      'Partitions',
      unowned === 0 ? `${owned}${range}` : colors.yellow(`${owned}: the ticks of the others wait${range}`),
    ],
    ['Lag', lag],
    [
      'Queue',
      `${queue.total} runs: ${queue.running} running, ${queue.ready} ready${oldest}${waiting}, ${queue.ahead} ahead${parked}`,
    ],
    ['Catch-up', `${replays.running} running, ${replays.paused} paused, ${replays.ticks_left} ticks left`],
    ['Brake', view.brake === null ? 'off' : colors.yellow('on, see below')],
    ['Events', view.events.length === 0 ? 'nothing goes on' : colors.yellow(`${view.events.length} go on`)],
    ['Clock', view.now],
  ]
}

function partitionTable(partitions: readonly Partition[], look: Look): string {
  return renderTable<Partition>(
    [
      { title: 'PARTITION', cell: ({ partition }) => String(partition) },
      {
        title: 'OWNER',
        cell: ({ owner }) => visible(owner ?? 'nobody'),
        paint: (text, { owner }) => (owner === null ? look.colors.yellow(text) : text),
      },
      { title: 'EPOCH', cell: ({ epoch }) => String(epoch) },
      { title: 'EXPIRES', cell: ({ expires_in_ms: ms }) => expiry(ms) },
    ],
    partitions,
    look,
  )
}

function expiry(ms: number | null): string {
  if (ms === null) return '–'
  return ms > 0 ? `in ${duration(ms)}` : `${duration(-ms)} ago`
}

export function brakeText(brake: Brake | null, look: Look): string {
  if (brake === null) return `${statusText('ok')}: no brake is in force\n`
  return renderFacts(
    [
      ['Brake', look.colors.yellow('on')],
      ['Fire windows', `${brake.window_factor} times as wide`],
      ['Catch-up', brake.catch_up_factor === 0 ? 'stopped' : `at ${brake.catch_up_factor} of its pace`],
      ['Reason', visible(brake.reason)],
      ['Set', whenInZone(brake.set_at, look)],
      ['Ends', whenInZone(brake.ends_at, look)],
    ],
    look,
  )
}

export function eventTable(events: readonly Event[], look: Look): string {
  return renderTable<Event>(
    [
      {
        title: 'EVENT',
        cell: ({ kind, resolved_at: over }) => `${over === null ? '!' : '✓'} ${visible(kind)}`,
        paint: (text, { resolved_at: over }) =>
          over === null ? look.colors.yellow(text) : look.colors.dim(text),
      },
      { title: 'ABOUT', cell: ({ subject }) => visible(subject), least: 12 },
      { title: `FOUND (${look.timeZone})`, cell: (event) => when(event.raised_at, look) },
      { title: `OVER (${look.timeZone})`, cell: (event) => when(event.resolved_at, look) },
      {
        title: 'DETAIL',
        cell: ({ detail }) => visible(JSON.stringify(detail) ?? ''),
        least: 10,
        optional: true,
      },
    ],
    events,
    look,
  )
}
