import { expect, test } from 'vitest'
import { Random } from '../random.mjs'
import upgrade from './upgrade.mjs'

test('whoever serves the API is replaced after all schedulers and workers', async () => {
  const replaced: string[] = []
  const member = (name: string, roles: string[]) => ({
    name,
    command: 'old',
    has: (role: string) => roles.includes(role),
    terminate: () => Promise.resolve(),
    kill: () => Promise.resolve(),
    start() {
      replaced.push(this.name)
      return Promise.resolve()
    },
  })
  const members = [
    member('api', ['api']),
    member('scheduler', ['scheduler']),
    member('all', ['api', 'scheduler', 'worker']),
    member('worker', ['worker']),
  ]
  await upgrade.inject({ fleet: { members }, random: new Random(1) })
  expect([...new Set(replaced)]).toEqual(['scheduler', 'worker', 'api', 'all'])
  expect(members.every(({ command }) => command !== 'old')).toBe(true)
})
