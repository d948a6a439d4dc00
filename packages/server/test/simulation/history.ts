import type { Dice } from '../kit/dice.js'
import type { Loop, Process } from './process.js'
import { type HistoryOptions, loops, World } from './world.js'

export interface History {
  seed: number
  violations: readonly string[]
  /** The order of effects, as a number. */
  interleaving: number
  /** By statement. */
  effects: ReadonlyMap<string, number>
  faults: number
  calls: number
}

type Action = (world: World, mixture: Mixture) => void | Promise<void>

/** What can happen next, and how often in relation to the rest. */
const actions: readonly (readonly [weight: number, action: Action])[] = [
  [40, moveSome],
  [20, beginSome],
  [6, (world) => world.advance(world.dice.between(1, 60))],
  [5, (world) => world.advance(Math.min(2_000, world.nextTimerInMs() ?? 100))],
  [2, (world) => world.advance(world.dice.between(200, 900))],
  [0.6, (world) => world.advance(world.dice.between(1_000, 4_500))],
  [5, finishSome],
  [2, breakSome],
  [1.5, fault],
  [0.5, (world) => world.unstall()],
]

const loopWeights: readonly (readonly [weight: number, loop: Loop])[] = [
  ...([
    [6, 'beat'],
    [4, 'own'],
    [6, 'fire'],
    [2, 'horizon'],
  ] as const),
  ...([
    [6, 'lease'],
    [2, 'look'],
    [4, 'rescue'],
    [1, 'reconcile'],
  ] as const),
]

const faultWeights = [
  ...([
    [4, 'kill'],
    [4, 'freeze'],
    [3, 'session'],
    [1, 'leave'],
    [2, 'start'],
    [3, 'hold up'],
  ] as const),
] as const

/** Of each history another mixture, so that every kind of trouble is the main one of some. */
interface Mixture {
  actions: readonly (readonly [number, Action])[]
  loops: readonly (readonly [number, Loop])[]
  faults: readonly (readonly [number, (typeof faultWeights)[number][1]])[]
  /** How often a statement stops between its snapshot and its work; how often a call goes all its way at once. */
  apart: number
  through: number
}

function mixtureOf(dice: Dice): Mixture {
  const mixed = <Item>(weights: readonly (readonly [number, Item])[]) =>
    weights.map(([weight, item]) => [weight * dice.pick([0.4, 1, 1, 2.5]), item] as const)
  return {
    ...{ actions: mixed(actions), loops: mixed(loopWeights), faults: mixed(faultWeights) },
    ...{ apart: dice.pick([0.05, 0.2, 0.5]), through: dice.pick([0.25, 0.5, 0.75]) },
  }
}

function beginSome(world: World, mixture: Mixture): void {
  const { up, dice } = world
  if (up.length === 0) return
  const process = dice.pick(up)
  const loop = dice.weighted(mixture.loops)
  // Mostly one that has something to do: a look at nothing changes nothing.
  if (world.hasWork(process, loop) || dice.chance(0.2)) world.begin(process, loop)
}

function moveSome(world: World, mixture: Mixture): void {
  const { dice } = world
  const call = world.someCall()
  if (call === undefined) return beginSome(world, mixture)
  world.move(call, { apart: dice.chance(mixture.apart), through: dice.chance(mixture.through) })
}

function finishSome(world: World): void {
  const delivery = world.dice.pick(world.deliveries)
  if (delivery?.process.hears === true) world.finishSomehow(delivery)
}

/** The connection of a call breaks: before its statement was done, or after it. */
function breakSome(world: World): void {
  const { dice, network } = world
  const call = dice.pick(network.calls)
  if (call?.caller.hears !== true || call.abandoned) return
  world.faults += 1
  world.say(() => `${call.caller.name}: the connection of ${call.statement} breaks (${call.stage})`)
  // What has not reached the server may never do so. What has, goes on there.
  if (call.stage === 'answering' || (call.stage === 'travelling' && dice.chance(0.5))) network.end(call)
  world.giveUp(call)
}

function fault(world: World, mixture: Mixture): void {
  const { dice, processes } = world
  world.faults += 1
  const there = processes.filter(({ state }) => state !== 'gone')
  // Mostly one that has something to lose.
  const busy = there.filter(({ worker }) => worker.inFlight > 0)
  const process = dice.pick(busy.length > 0 && dice.chance(0.7) ? busy : there)
  const kind = dice.weighted(mixture.faults)
  if (kind === 'hold up') return holdUp(world)
  if (process !== undefined && dice.chance(0.5)) world.stall(process)
  if (kind === 'start' || process === undefined) {
    if (processes.length < mostProcesses) world.start()
  } else if (kind === 'kill') world.kill(process)
  else if (kind === 'freeze') freezeOrThaw(world, process)
  else if (kind === 'session') {
    world.breakSession(process)
  } else if (process.state === 'up') world.leave(process)
}

const mostProcesses = 5

/** One call alone: the others of its process go on beside it. */
function holdUp(world: World): void {
  const call = world.dice.pick(world.network.calls)
  if (call === undefined) return
  call.stalled = true
  world.say(() => `${call.caller.name}: ${call.statement} is held up (${call.stage})`)
}

function freezeOrThaw(world: World, process: Process): void {
  if (process.state === 'frozen') thaw(world, process)
  else if (process.state === 'up') {
    world.say(() => `${process.name} is frozen`)
    process.state = 'frozen'
  }
}

function thaw(world: World, process: Process): void {
  world.say(() => `${process.name} goes on`)
  process.state = 'up'
}

/** Nothing goes wrong any more. Whoever is left, and one more at least, works off what is owed. */
async function heal(world: World): Promise<void> {
  world.say(() => 'nothing more goes wrong')
  // A server notices a dead connection sooner or later.
  for (const process of world.processes)
    if (process.state === 'gone') process.options.database.session?.drop()
  // What is frozen or held up may stay so until the others take it for dead, and comes back after that.
  const stalledFor = world.dice.between(0, 8)
  const frozenFor = world.dice.chance(0.4) ? 0 : world.dice.between(1, 12)
  for (let round = 0; round < mostRounds; round++) {
    if (round >= stalledFor) world.unstall()
    if (round >= frozenFor)
      for (const process of world.processes) if (process.state === 'frozen') thaw(world, process)
    if (!world.processes.some(({ state }) => state === 'up' || state === 'starting')) world.start()
    for (const process of world.up)
      for (const loop of loops) if (world.needs(process, loop)) world.begin(process, loop)
    await pump(world)
    if (world.isDone) return
    await world.advance(500)
  }
  world.checker.fault('the fleet did not work off what it owed')
}

const mostRounds = 120

/** Until nobody waits for anything but time. Who goes first is thrown all the same. */
async function pump(world: World): Promise<void> {
  const { dice } = world
  for (let moves = 0; moves < 20_000; moves++) {
    const call = world.someCall()
    if (call === undefined) {
      const delivery = dice.pick(world.deliveries.filter(({ process }) => process.hears))
      if (delivery === undefined) return
      world.finishWell(delivery)
    } else world.move(call, { apart: false, through: dice.chance(0.7) })
    await world.rest()
  }
  throw new Error('The calls of a pass do not come to an end.')
}

/** All have joined and own their share, the first ticks are near, and everybody is about to work. */
async function begun(world: World): Promise<void> {
  await world.rest()
  await pump(world)
  for (const loop of ['beat', 'own'] as const) {
    for (const process of world.up) world.begin(process, loop)
    await world.rest()
    await pump(world)
  }
  await world.advance(world.dice.between(0, 1_400))
  for (const process of world.up) for (const loop of ['fire', 'lease'] as const) world.begin(process, loop)
}

/** One history, from its seed: the same every time. */
export async function runHistory(seed: number, options: HistoryOptions = {}): Promise<History> {
  const world = new World(seed, options)
  const { dice, checker, interleaving } = world
  world.furnish(dice.between(2, 4))
  const processes = dice.between(2, 3)
  for (let at = 0; at < processes; at++) world.start()
  await begun(world)
  const mixture = mixtureOf(dice)
  const steps = dice.between(50, 120)
  for (let step = 0; step < steps && checker.violations.length === 0; step++) {
    await dice.weighted(mixture.actions)(world, mixture)
    await world.rest()
  }
  if (checker.violations.length === 0) await heal(world)
  if (checker.violations.length === 0) checker.atTheEnd()
  return {
    ...{ seed, violations: checker.violations, interleaving: interleaving.hash },
    ...{ effects: interleaving.effects, faults: world.faults, calls: world.network.sent },
  }
}
