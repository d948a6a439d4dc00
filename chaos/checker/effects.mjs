// What handlers do once: effects that are remembered, and writes that commit with the run.

/**
 * Once an attempt was told that its effect is remembered, no later one does it again; and a run that succeeded has done it.
 * @param {{ name: string, rows: object[], effects: { token: number, remembered: boolean }[] }} run of a job with effects
 */
export function judgeEffects({ name, rows, effects }, verdict) {
  const done = effects.filter(({ remembered }) => !remembered).map(({ token }) => token)
  const remembered = effects.filter((one) => one.remembered).map(({ token }) => token)
  verdict.count('effects', done.length)
  const first = Math.min(...remembered)
  const again = done.filter((token) => token > first)
  if (again.length > 0)
    verdict.add('effect_repeated', `${name}: remembered under ${first}, done again under ${again.join(', ')}`)
  if (done.length === 0 && rows.some(({ final, outcome }) => final && outcome === 'success'))
    verdict.add('claimed', `${name} succeeded, and nobody saw its effect`)
}

/**
 * Writes of a handler's transaction: one set for each run that succeeded, none for any other.
 * @param {{ name: string, rows: object[], bookings: object[] }} run of a job with such a handler
 */
export function judgeBookings({ name, rows, bookings }, verdict) {
  const succeeded = rows.find(({ final, outcome }) => final && outcome === 'success')
  verdict.count('bookings', bookings.length)
  const expected = succeeded === undefined ? 0 : 1
  if (bookings.length !== expected)
    verdict.add(
      'booked_wrong',
      `${name}: ${bookings.length} bookings of a run that ${expected === 1 ? 'succeeded' : 'did not succeed'}`,
    )
  else if (succeeded !== undefined && bookings[0].token !== succeeded.token)
    verdict.add('booked_wrong', `${name}: booked under ${bookings[0].token}, closed under ${succeeded.token}`)
}
