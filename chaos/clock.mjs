// The one clock of all that the harness writes down. Processes under test may have their wall clock shifted, and so may
// what runs inside them: the monotonic clock is the machine's, the same in every process.

/** Milliseconds of the machine's monotonic clock. */
export const monotonic = () => Number(process.hrtime.bigint()) / 1e6
/** How far the machine's wall clock is ahead of its monotonic one. */
const begunAt = wallOverMonotonic()
/** Milliseconds since 1970, as this machine's clock showed them when the harness began. */
export const now = () => begunAt + monotonic()
/** What to add to monotonic times of other processes. */
export const monotonicToWall = begunAt
/** By how much the one has gone away from the other since then: clocks are set while we run. */
export const drift = () => wallOverMonotonic() - begunAt

/** Read where a millisecond begins; whoever is interrupted between the two readings finds too little, so the most is right. */
function wallOverMonotonic() {
  const found = Array.from({ length: 20 }, () => edgeOfMillisecond() - monotonic())
  return Math.max(...found)
}

function edgeOfMillisecond() {
  const first = Date.now()
  for (;;) {
    const next = Date.now()
    if (next !== first) return next
  }
}
