// Ours, the peers and the probe take turns, repeat after repeat, so that a noisy machine is noisy for all of them. What is
// compared are the medians.
import { figureAt, medians, ratio } from './figures.mjs'
import { progress, say } from './progress.mjs'

/**
 * `entrants`: { name, kind: 'ours' | 'peer' | 'probe', run(repeat) -> figures }. Figures of ours hold `lost` and `doubled`.
 * `score`: the figure that is compared, and whether 'higher' or 'lower' is better; `beside`: another of which each turn is told.
 */
export async function compare({ workload, parameters = {}, entrants, repeats, score }) {
  const results = new Map(entrants.map(({ name }) => [name, []]))
  const failures = new Map()
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const entrant of entrants) {
      if (failures.has(entrant.name)) continue
      progress(`${workload} ${labelOf(parameters)}: ${entrant.name}, ${repeat + 1} of ${repeats}`)
      try {
        const figures = await entrant.run(repeat)
        results.get(entrant.name).push(figures)
        say(
          `${workload} ${labelOf(parameters)}: ${entrant.name} ${repeat + 1}/${repeats}: ` +
            toldOf(score)
              .map((figure) => `${figure} ${figureAt(figures, figure)}`)
              .join(', '),
        )
      } catch (error) {
        // A peer that cannot do it is a result, too; we may not fail.
        if (entrant.kind === 'ours') throw error
        failures.set(entrant.name, String(error?.message ?? error).split('\n')[0])
        say(`${workload}: ${entrant.name} failed: ${failures.get(entrant.name)}`)
      }
    }
  }
  return { workload, ...parameters, ...summary({ entrants, results, failures, score }), repeats }
}

function summary({ entrants, results, failures, score }) {
  const of = (kind) =>
    entrants
      .filter((entrant) => entrant.kind === kind)
      .map(({ name }) => [
        name,
        failures.has(name)
          ? { error: failures.get(name) }
          : {
              ...medians(results.get(name)),
              each: eachOf(results.get(name), score.figure),
              ...besideOf(results.get(name), score),
            },
      ])
  const [[, ours]] = of('ours')
  const peers = Object.fromEntries(of('peer'))
  const probe = of('probe')[0]?.[1] ?? null
  const best = bestOf(peers, score)
  const all = results.get(entrants.find(({ kind }) => kind === 'ours').name)
  const sum = (name) => all.reduce((total, one) => total + one[name], 0)
  const { lost: _lost, doubled: _doubled, ...rest } = ours
  return {
    ours: rest,
    peers,
    probe,
    ratio_best_peer:
      best === null ? null : ratio(figureAt(ours, score.figure), figureAt(peers[best], score.figure)),
    ratio_probe: probe === null ? null : ratio(figureAt(ours, score.figure), figureAt(probe, score.figure)),
    best_peer: best,
    ratio_of: score.figure,
    better: score.better,
    lost: sum('lost'),
    doubled: sum('doubled'),
  }
}

function toldOf({ figure, beside }) {
  return beside === undefined ? [figure] : [figure, beside]
}

/** Where they have it. */
function besideOf(turns, { beside }) {
  if (beside === undefined || turns.every((one) => figureAt(one, beside) === null)) return {}
  return { each_beside: eachOf(turns, beside) }
}

function eachOf(turns, figure) {
  return turns.map((one) => figureAt(one, figure))
}

/** The peer that did best; null where none did it at all. */
export function bestOf(peers, { figure, better }) {
  const able = Object.entries(peers).filter(([, figures]) => figureAt(figures, figure) !== null)
  able.sort(([, a], [, b]) => (figureAt(a, figure) - figureAt(b, figure)) * (better === 'higher' ? -1 : 1))
  return able[0]?.[0] ?? null
}

/**
 * Several cases of one workload, such as two rates, in one object: the first one's figures, and all of them as `cases`. What
 * was lost or doubled anywhere counts.
 */
export function inOne(cases) {
  if (cases.length === 1) return cases[0]
  const sum = (name) => cases.reduce((total, one) => total + one[name], 0)
  return { ...cases[0], lost: sum('lost'), doubled: sum('doubled'), cases }
}

/** What must not be, in words; null where all is well. */
export function wrongIn({ lost = 0, doubled = 0, early = 0 }) {
  return lost > 0 || doubled > 0 || early > 0 ? `${lost} lost, ${doubled} doubled, ${early} early` : null
}

function labelOf(parameters) {
  return Object.entries(parameters)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${name} ${value.toLocaleString('en')}`)
    .join(', ')
}
