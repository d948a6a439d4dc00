/**
 * The time at which a run is available that waits for its job to be resumed: the last instant that there is, so that no
 * lease looks for it. Resuming gives it back its place among the runs that wait.
 */
export const parkedUntil = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
