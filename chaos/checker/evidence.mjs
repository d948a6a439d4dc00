// What must have been looked at: where nothing was written down, nothing was found, and that is no good news.

/**
 * @param {{ leastTicks: number, leastKills?: number, leastRestarts?: number, without?: string[] }} settings `without`: what this
 *   kind of run does not look at
 * @param {object[]} nemesis
 */
export function judgeEvidence(
  { leastTicks, leastKills = 0, leastRestarts = 0, without = [] },
  nemesis,
  verdict,
) {
  const { ticks = 0 } = verdict.counts
  if (!(leastTicks > 0 && ticks >= leastTicks))
    verdict.add('no_evidence', `${ticks} ticks were judged, and ${leastTicks} are the least`)
  for (const [what, had, least] of [
    ['processes were killed', killsIn(nemesis), leastKills],
    ['restarts of the database were made', restartsIn(nemesis), leastRestarts],
  ])
    if (had < least) verdict.add('no_evidence', `${had} ${what}, and ${least} are the least`)
  if (!nemesis.some(({ health }) => health !== undefined))
    verdict.add('no_evidence', 'nobody looked whether all was done in the end')
  if (!without.includes('verify')) judgeVerify(nemesis, verdict)
  if (!without.includes('takeover')) judgeTakeovers(nemesis, verdict)
}

/** Carillon's own proof says nothing else. */
function judgeVerify(nemesis, verdict) {
  const answers = nemesis.flatMap(({ verify }) => (verify === undefined ? [] : [verify]))
  if (answers.length === 0) verdict.add('no_evidence', 'carillon verify was not asked')
  for (const answer of answers) {
    const { unaccounted, doubled, unexpected, wrong_count, exit_code } = answer
    const isFine = [unaccounted, doubled, unexpected, wrong_count, exit_code].every((one) => one === 0)
    if (!isFine) verdict.add('verify_disagrees', JSON.stringify(answer))
  }
}

/** Of each kill of a scheduler it is known how long its partitions had no owner. */
function judgeTakeovers(nemesis, verdict) {
  const schedulers = new Set(
    nemesis.flatMap(({ started, pid, roles }) =>
      started !== undefined && roles?.includes('scheduler') ? [pid] : [],
    ),
  )
  const kills = nemesis.filter(
    ({ fault, victims }) => fault === 'kill' && victims.some(({ pid }) => schedulers.has(pid)),
  )
  const seen = nemesis.filter((entry) => 'takeover' in entry).length
  if (seen < kills.length)
    verdict.add(
      'no_evidence',
      `${kills.length} times schedulers were killed, and ${seen} takeovers were seen`,
    )
}

/** Processes that were killed. @param {object[]} nemesis */
export function killsIn(nemesis) {
  return nemesis.filter(({ ended, signal }) => ended !== undefined && signal === 'SIGKILL').length
}

/** Restarts of the database. @param {object[]} nemesis */
export function restartsIn(nemesis) {
  return nemesis.filter(({ database }) => database === 'up').length
}
