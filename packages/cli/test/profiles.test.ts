import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { carillon, jsonOf, newFolder, removeFolder } from './support/carillon.js'

let folder: string
let server: Server
let url: string
let seen: (string | undefined)[]

beforeEach(async () => {
  folder = newFolder()
  seen = []
  server = createServer((request: IncomingMessage, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"next_cursor":null}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.close()
  removeFolder(folder)
})

function speak(args: readonly string[], env: Record<string, string> = {}, input = '') {
  return carillon(args, { env: { XDG_CONFIG_HOME: folder, ...env }, input })
}

it('speaks to the server of a profile with its key, which only its owner can read', async () => {
  await speak(['profiles', 'add', 'other', '--url', 'http://127.0.0.1:1', '--key', 'car_other'])
  const added = await speak(['profiles', 'add', 'prod', '--url', url, '--key', '-'], {}, 'car_hunter2\n')
  expect(added.code).toBe(0)
  expect(statSync(join(folder, 'carillon', 'profiles.json')).mode & 0o777).toBe(0o600)
  expect((await speak(['jobs', 'list', '--profile', 'prod', '--json'])).code).toBe(0)
  expect((await speak(['jobs', 'list', '--json'], { CARILLON_PROFILE: 'prod' })).code).toBe(0)
  await speak(['profiles', 'use', 'prod'])
  expect((await speak(['jobs', 'list', '--json'])).code).toBe(0)
  expect(seen).toEqual(['Bearer car_hunter2', 'Bearer car_hunter2', 'Bearer car_hunter2'])
  const list = await speak(['profiles', 'list', '--json'])
  expect(jsonOf(list)).toMatchObject({
    data: [
      { name: 'other', current: false },
      { name: 'prod', current: true, key: true },
    ],
  })
  expect(list.stdout + (await speak(['config'])).stdout).not.toContain('hunter2')
})

it('lets the environment win, and sends a key to no server but its own', async () => {
  await speak(['profiles', 'add', 'prod', '--url', 'http://127.0.0.1:1', '--key', 'car_hunter2'])
  expect((await speak(['jobs', 'list'], { CARILLON_URL: url })).code).toBe(0)
  expect((await speak(['jobs', 'list', '--url', url, '--profile', 'prod'])).code).toBe(0)
  expect((await speak(['jobs', 'list'], { CARILLON_URL: url, CARILLON_API_KEY: 'car_env' })).code).toBe(0)
  expect(seen).toEqual([undefined, undefined, 'Bearer car_env'])
})

it('goes to the server that --profile names, whatever the environment says, and with no key of another', async () => {
  await speak(['profiles', 'add', 'keyed', '--url', url, '--key', 'car_hunter2'])
  await speak(['profiles', 'add', 'open', '--url', url])
  const elsewhere = { CARILLON_URL: 'http://127.0.0.1:1', CARILLON_API_KEY: 'car_elsewhere' }
  expect((await speak(['jobs', 'list', '--profile', 'keyed'], elsewhere)).code).toBe(0)
  expect((await speak(['jobs', 'list', '--profile', 'open'], elsewhere)).code).toBe(0)
  expect((await speak(['jobs', 'list', '--profile', 'open'], { CARILLON_API_KEY: 'car_env' })).code).toBe(0)
  expect(seen).toEqual(['Bearer car_hunter2', undefined, 'Bearer car_env'])
})

it('names the profiles there are for one that there is not, and forgets on demand', async () => {
  await speak(['profiles', 'add', 'prod', '--url', url])
  const missing = await speak(['jobs', 'list', '--profile', 'prd'])
  expect(missing.code).toBe(3)
  expect(missing.stderr).toContain('Those there are: prod')
  expect((await speak(['profiles', 'remove', 'prod'])).code).toBe(2)
  expect((await speak(['profiles', 'remove', 'prod', '--yes'])).code).toBe(0)
  expect(jsonOf(await speak(['profiles', 'list', '--json']))).toEqual({ data: [] })
})
