// What a benchmark is asked for on the command line.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { peerNames } from '../contestants/peer.mjs'

const known = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  smoke: { type: 'boolean', default: false },
  n: { type: 'string' },
  rate: { type: 'string' },
  seconds: { type: 'string' },
  repeats: { type: 'string' },
  peers: { type: 'string' },
  set: { type: 'string', multiple: true, default: [] },
  out: { type: 'string' },
  workers: { type: 'string' },
  profile: { type: 'string' },
}

/** The options, or a sentence that says what is wrong with them. */
export function optionsOf(args, compared, alone) {
  let parsed
  try {
    parsed = parseArgs({ args, allowPositionals: true, options: known })
  } catch (error) {
    return `${error.message} See --help.`
  }
  const { values, positionals } = parsed
  const { json, help, smoke, out } = values
  if (help) return { help }
  const all = [...compared, ...alone].sort()
  const unknown = positionals.find((name) => !all.includes(name))
  if (positionals.length === 0 || unknown !== undefined)
    return `${unknown === undefined ? 'no workload named' : `there is no workload "${unknown}"`}. Known: ${all.join(', ')}`
  try {
    return {
      names: positionals,
      json,
      help,
      smoke,
      peers: peersOf(values.peers),
      set: settingsOf(values.set),
      ...given('n', numbersOf('n', values.n)),
      ...given('rate', numbersOf('rate', values.rate)),
      ...given('seconds', numbersOf('seconds', values.seconds)?.[0]),
      ...given('repeats', numbersOf('repeats', values.repeats)?.[0]),
      ...given('workers', numbersOf('workers', values.workers)?.[0]),
      ...given('profile', values.profile && resolve(values.profile)),
      ...given('out', out),
    }
  } catch (error) {
    return error.message
  }
}

/** What makes the same figures again. Where they are kept, and how they are shown, is no part of that, and a folder nobody else's. */
export function commandOf(args) {
  const kept = []
  for (let at = 0; at < args.length; at++) {
    if (args[at] === '--out' || args[at] === '--profile') at++
    else if (!/^--(json$|out=|profile=)/.test(args[at])) kept.push(args[at])
  }
  return ['npm run bench --', ...kept].join(' ')
}

export function usage(compared, alone) {
  return [
    'npm run bench -- NAME… [options]',
    '',
    `side by side with the peers: ${compared.join(', ')}`,
    `ours alone:                  ${alone.join(', ')}`,
    '',
    '  --json              one line of JSON on stdout, all else on stderr',
    '  --n N[,N…]          how many jobs, ticks or runs; several are several cases',
    '  --rate R[,R…]       ticks a second',
    '  --seconds S         how long it is watched',
    '  --repeats K         how often each has its turn; medians are compared (3)',
    `  --peers a,b|none    of ${peerNames.join(', ')} (all)`,
    '  --set NAME=VALUE    a setting of ours, to try another one',
    '  --smoke             seconds instead of minutes: whether it works, not how fast',
    '  --workers N         further processes of ours that run tasks, beside the one that does everything (0)',
    '  --profile FOLDER    CPU profiles of ours, and what its statements cost; figures are slower then',
    '  --out FOLDER        also keeps the JSON there, for npm run bench:report',
  ].join('\n')
}

const given = (name, value) => (value === undefined ? {} : { [name]: value })

function numbersOf(name, text) {
  return text?.split(',').map((part) => {
    const number = Number(part.replaceAll('_', ''))
    if (Number.isInteger(number) && number > 0) return number
    throw new Error(`--${name} takes a whole number above 0, not ${part}`)
  })
}

function peersOf(text = peerNames.join()) {
  if (text === 'none') return []
  const names = text.split(',')
  const unknown = names.find((name) => !peerNames.includes(name))
  if (unknown === undefined) return names
  throw new Error(`--peers knows ${peerNames.join(', ')} and none, not ${unknown}`)
}

function settingsOf(pairs) {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
      throw new Error(`--set takes NAME=VALUE, not ${pair}`)
    }),
  )
}
