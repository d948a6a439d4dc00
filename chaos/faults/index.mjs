// Every fault by its name, all of one shape:
//   isFor(context)          whether the run asks for it at all; without it, yes
//   skip(context)           why it cannot be done here, or null
//   pick(context)           whom it meets, and what else it needs to know: written down before it is done
//   inject(context, state)  does it, for as long as it lasts
//   heal(context, state)    undoes it
import block from './block.mjs'
import blackout from './blackout.mjs'
import { databaseClock, nodeClock } from './clocks.mjs'
import { exhaustion, longTransaction, readOnly, tableLock } from './database-holds.mjs'
import { fastStop, immediateStop } from './database-stops.mjs'
import diskFull from './disk-full.mjs'
import { cutOff, delay, hang, reset, swallow } from './doors.mjs'
import freeze from './freeze.mjs'
import kill from './kill.mjs'
import outOfMemory from './out-of-memory.mjs'
import { poison, targets } from './outside.mjs'
import rolling from './rolling.mjs'
import terminate from './terminate.mjs'
import upgrade from './upgrade.mjs'

/** With the weight that each has beside the kills, which come between all others. */
const weighted = [
  [0, kill],
  [0, upgrade],
  [12, fastStop],
  [12, immediateStop],
  [2, freeze],
  [2, terminate],
  [1, rolling],
  [1, blackout],
  [2, block],
  [2, reset],
  [2, cutOff],
  [2, hang],
  [1, delay],
  [3, swallow],
  [2, readOnly],
  [2, tableLock],
  [1, longTransaction],
  [1, exhaustion],
  [1, diskFull],
  [1, outOfMemory],
  [2, nodeClock],
  [1, databaseClock],
  [2, targets],
  [1, poison],
]

export const faults = new Map(weighted.map(([weight, fault]) => [fault.name, { weight, ...fault }]))
