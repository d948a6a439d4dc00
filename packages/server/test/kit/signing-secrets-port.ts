import {
  CarillonError,
  type RevealedSigningSecret,
  type RotateInput,
  type SigningSecret,
} from '@carillon/contract'
import type { SigningSecretsPort } from '../../src/http/api.js'

/** Signing secrets in memory, behind the port that the HTTP room is handed. */
export class MemorySigningSecrets implements SigningSecretsPort {
  readonly stored: RevealedSigningSecret[] = [someSecret(1)]
  readonly rotations: RotateInput[] = []

  list(): Promise<{ data: SigningSecret[] }> {
    return Promise.resolve({ data: this.stored.map(({ secret: _, ...shown }) => shown) })
  }

  current(): Promise<RevealedSigningSecret> {
    return Promise.resolve(this.stored[0] ?? someSecret(1))
  }

  rotate(_tenant: number, input: RotateInput): Promise<RevealedSigningSecret> {
    this.rotations.push(input)
    if (this.stored.length === 5) return Promise.reject(new CarillonError('too_many_signing_secrets'))
    const made = someSecret(this.stored.length + 1)
    for (const before of this.stored) before.retires_at ??= '2026-11-02T00:00:00Z'
    this.stored.unshift(made)
    return Promise.resolve(made)
  }

  retire(_tenant: number, id: string): Promise<void> {
    const at = this.stored.findIndex((secret) => secret.id === id)
    if (at === -1) return Promise.reject(new CarillonError('signing_secret_not_found'))
    if (at === 0) return Promise.reject(new CarillonError('signing_secret_current'))
    this.stored.splice(at, 1)
    return Promise.resolve()
  }
}

function someSecret(number: number): RevealedSigningSecret {
  const secret = `whsec_${Buffer.alloc(32, number).toString('base64')}`
  return {
    id: `sgn_${String(number).padStart(26, '0')}`,
    hint: `whsec_…${secret.slice(-5)}`,
    created_at: '2026-11-01T00:00:00Z',
    retires_at: null,
    signs_by: '2026-11-01T00:00:05Z',
    secret,
  }
}
