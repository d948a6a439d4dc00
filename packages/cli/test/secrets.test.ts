import type { RevealedSigningSecret, SigningSecretList } from '@carillon/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Ended, TestServer } from './support/carillon.js'
import { carillon, jsonOf, startServer } from './support/carillon.js'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  expect((await server.stop()).code).toBe(0)
})

function secrets(...args: string[]): Promise<Ended> {
  return carillon(['secrets', ...args], { env: { CARILLON_URL: server.url } })
}

it('shows the secret alone, as a script takes it, and lists it without', async () => {
  const shown = await secrets('show')
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/)
  expect(jsonOf<RevealedSigningSecret>(await secrets('show', '--json'))).toMatchObject({
    secret: shown.stdout.trim(),
    retires_at: null,
  })
  const listed = await secrets('list')
  expect(listed.stdout).toMatch(/^sgn_\w{26} +whsec_….{5} +● current /m)
  expect(listed.stdout).not.toContain(shown.stdout.trim())
})

it('rotates: the new secret goes to stdout, what to do to stderr; then the old one is retired', async () => {
  const old = jsonOf<RevealedSigningSecret>(await secrets('show', '--json'))
  const rotated = await secrets('rotate', '--overlap', '2h')
  expect(rotated.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/)
  expect(rotated.stdout.trim()).not.toBe(old.secret)
  expect(rotated.stderr).toContain('The secret before signs beside it')
  expect((await secrets('show')).stdout).toBe(rotated.stdout)
  const { data } = jsonOf<SigningSecretList>(await secrets('list', '--json'))
  expect(data.map(({ id }) => id)).toContain(old.id)
  expect((await secrets('retire', old.id)).stdout).toContain(`Retired ${old.id}`)
  const again = await secrets('retire', old.id)
  expect(again).toMatchObject({ code: 3, stdout: '' })
  expect(again.stderr).toContain('signing_secret_not_found')
  const current = await secrets('retire', data[0]?.id ?? '')
  expect(current.code).toBe(4)
  expect(current.stderr).toMatch(/rotate first/)
})

it('takes an overlap of nothing, and no other nonsense', async () => {
  const rotated = await secrets('rotate', '--overlap', '0')
  expect(rotated.stderr).toContain('The secret before signs nothing any more')
  expect(jsonOf<SigningSecretList>(await secrets('list', '--json')).data).toHaveLength(1)
  const refused = await secrets('rotate', '--overlap', 'soon')
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect((await secrets('rotate', '--overlap', '31d')).stderr).toContain('/overlap_seconds')
})
