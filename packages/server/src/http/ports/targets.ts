import type {
  RevealedSigningSecret,
  RotateInput,
  SigningSecret,
  TargetHost,
  TargetLimitsInput,
} from '@carillon/contract'
import type { PageQuery } from './page.js'

/** The hosts that jobs call: their limits and breakers. */
export interface TargetsPort {
  list(tenant: number, query: PageQuery): Promise<{ data: TargetHost[]; next_cursor: string | null }>
  get(tenant: number, host: string): Promise<TargetHost>
  put(tenant: number, host: string, input: TargetLimitsInput): Promise<TargetHost>
  deleteLimits(tenant: number, host: string): Promise<void>
  reset(tenant: number, host: string): Promise<TargetHost>
}

/** What webhooks are signed with. Only `current` and `rotate` answer a secret. */
export interface SigningSecretsPort {
  list(tenant: number): Promise<{ data: SigningSecret[] }>
  current(tenant: number): Promise<RevealedSigningSecret>
  rotate(tenant: number, input: RotateInput): Promise<RevealedSigningSecret>
  retire(tenant: number, secretId: string): Promise<void>
}
