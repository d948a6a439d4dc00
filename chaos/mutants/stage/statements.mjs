// Statements by what they do, as a door sees them: their parameters are numbers there, and their comments are gone.
/** @typedef {import('./proxy.mjs').Call} Call */

/** Moves cursors, and so fires. @param {Call} call */
export const isFiring = ({ text }) =>
  /UPDATE carillon\.timers\b/.test(text) && /accounted_through = /.test(text)

/** Says that its process is alive. @param {Call} call */
export const isHeartbeat = ({ text }) => /SET beat = beat \+ 1/.test(text)

/** Renews partitions, or takes them. @param {Call} call */
export const isAboutPartitions = ({ text }) =>
  /UPDATE carillon\.partitions\b/.test(text) && /expires_at = carillon\.now_ms\(\)/.test(text)
