import { expect, test } from 'vitest'
import { poolName } from './measured-pool.js'

test.each([
  ['carillon', 'fleet'],
  ['carillon api', 'api'],
  ['carillon effects', 'effects'],
  ['something else', 'fleet'],
])('the pool of %j is called %s', (applicationName, pool) => {
  expect(poolName(applicationName)).toBe(pool)
})
