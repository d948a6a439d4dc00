import type { RevealedSigningSecret, RotateInput, SigningSecretList } from '@carillon/contract'
import type { Call } from './transport.js'

export interface SigningSecretCalls {
  readonly signingSecrets: {
    /** Those that sign, the current one first, without the secrets themselves. */
    list(): Promise<SigningSecretList>
    /** The current one, in clear: what a receiver passes to verifyWebhook. */
    current(): Promise<RevealedSigningSecret>
    /** A new one, in clear. The one before signs beside it for overlap_seconds, a day where nothing is said. */
    rotate(input?: RotateInput): Promise<RevealedSigningSecret>
    /** Ends one that retires, before its time. */
    retire(id: string): Promise<void>
  }
}

const secretsPath = '/api/v1/signing-secrets'

export function signingSecretCalls(call: <T>(what: Call) => Promise<T>): SigningSecretCalls {
  return {
    signingSecrets: {
      list: () => call<SigningSecretList>({ method: 'GET', path: secretsPath }),
      current: () => call<RevealedSigningSecret>({ method: 'GET', path: `${secretsPath}/current` }),
      rotate: (input = {}) =>
        call<RevealedSigningSecret>({ method: 'POST', path: `${secretsPath}/rotate`, body: input }),
      async retire(id) {
        await call({ method: 'DELETE', path: pathOf(id) })
      },
    },
  }
}

function pathOf(id: string): string {
  // As a path segment an empty id, "." or ".." would address something else than a secret.
  if (/^\.{0,2}$/.test(id))
    throw new TypeError(
      `"${id}" is not the id of a signing secret. Ids look like sgn_… and are given by the server.`,
    )
  return `${secretsPath}/${encodeURIComponent(id)}`
}
