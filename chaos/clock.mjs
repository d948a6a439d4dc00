// The one clock of all that the harness writes down. Processes under test may have their wall clock shifted, and so may
// what runs inside them: the monotonic clock is the machine's, the same in every process.

/** Milliseconds of the machine's monotonic clock. */
export const monotonic = () => Number(process.hrtime.bigint()) / 1e6
/** Milliseconds since 1970, as this machine's clock showed them when the harness began. */
const begunAt = Date.now() - monotonic()
export const now = () => begunAt + monotonic()
/** What to add to monotonic times of other processes. */
export const monotonicToWall = begunAt
