import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })

/** What a key may do. Each of viewer, operator and admin may what the one before may; a worker has a way of its own. */
export const roles = ['viewer', 'worker', 'operator', 'admin'] as const
export const Role = stringEnum(roles, {
  description:
    '`viewer` reads; `worker` leases and closes runs; `operator` also changes jobs, runs and dead letters; `admin` also keys, secrets and all else of its tenant',
})
export type Role = (typeof roles)[number]

const keyName = Type.String({
  minLength: 1,
  maxLength: limits.name,
  pattern: '\\S',
  description: 'Who has it: the audit names its changes by this. No two live keys of a tenant have the same',
})

export const KeyInput = Type.Object(
  {
    name: keyName,
    role: Role,
    expires_at: Type.Optional(
      orNull(Type.String({ minLength: 1, maxLength: 64 }), 'ISO-8601 with an offset; null or absent: never'),
    ),
    tenant: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.name,
        description: 'The name of another tenant: only an admin of the tenant `default` may give one',
      }),
    ),
  },
  { $id: 'KeyInput', additionalProperties: false },
)
export type KeyInput = Static<typeof KeyInput>

const keyFields = {
  key_id: Type.String({ description: 'key_…: names the key and is no secret' }),
  name: Type.String(),
  role: Role,
  state: stringEnum(['active', 'expired', 'revoked'] as const),
  created_at: instant('When it was made'),
  expires_at: orNull(instant('From then on it opens nothing'), 'Null: never'),
  revoked_at: orNull(instant('When it was revoked'), 'Null: it was not'),
  rotated_at: orNull(instant('When it had its last new secret'), 'Null: never'),
  previous_expires_at: orNull(
    instant('Until when the secret before opens as well'),
    'Null: none does, or its time is over',
  ),
}

/** A key without its secret, which nobody can read again. */
export const ApiKey = Type.Object(keyFields, { $id: 'ApiKey' })
export type ApiKey = Static<typeof ApiKey>

export const ApiKeyList = Type.Object(
  { data: Type.Array(ApiKey), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'ApiKeyList' },
)
export type ApiKeyList = Static<typeof ApiKeyList>

/** Answered when it is made or rotated, and never again. */
export const RevealedKey = Type.Object(
  { ...keyFields, key: Type.String({ description: 'car_…: send it as `Authorization: Bearer car_…`' }) },
  { $id: 'RevealedKey' },
)
export type RevealedKey = Static<typeof RevealedKey>

export const RotateKeyInput = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.overlapSeconds,
        default: 86_400,
        description: 'How long the secret before opens beside the new one; 0 where it has leaked',
      }),
    ),
    expires_at: Type.Optional(
      orNull(
        Type.String({ minLength: 1, maxLength: 64 }),
        'A new end, ISO-8601 with an offset; null: never; absent: as before',
      ),
    ),
  },
  { $id: 'RotateKeyInput', additionalProperties: false },
)
export type RotateKeyInput = Static<typeof RotateKeyInput>

/** Who is calling. */
export const Self = Type.Object(
  {
    tenant: Type.String({ description: "The tenant's name" }),
    role: Role,
    actor: Type.String({ description: 'What the audit calls it: the name of the key, or `local`' }),
    key_id: orNull(Type.String(), 'Null: no key is needed here, and none was sent'),
    expires_at: orNull(instant('When the key ends'), 'Null: never'),
  },
  { $id: 'Self' },
)
export type Self = Static<typeof Self>

const tenantSettings = {
  max_jobs: Type.Optional(
    orNull(
      Type.Integer({ minimum: 0, maximum: limits.runs }),
      'Most live jobs; null: the setting of the server',
    ),
  ),
  create_per_second: Type.Optional(
    orNull(
      Type.Number({ exclusiveMinimum: 0, maximum: limits.fastestPerSecond }),
      'Jobs that may be created in a second; null: the setting of the server',
    ),
  ),
  min_interval_seconds: Type.Optional(
    orNull(
      Type.Integer({ minimum: 1, maximum: 86_400 }),
      'The shortest time between two ticks of a job; null: the setting of the server',
    ),
  ),
  weight: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'Its share of the workers beside others; 100 unless told',
    }),
  ),
  max_concurrent: Type.Optional(
    orNull(
      Type.Integer({ minimum: 0, maximum: limits.hostConcurrent }),
      'Most of its runs that workers hold at once; null: any number',
    ),
  ),
  allow_commands: Type.Optional(
    Type.Boolean({
      description:
        'May register jobs with `command` targets, which run programs where workers of the fleet allow commands; ' +
        'false unless told, except for `default`',
    }),
  ),
}

export const TenantInput = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 63,
      pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
      description: 'Small letters, digits and hyphens. It never changes',
    }),
    ...tenantSettings,
  },
  { $id: 'TenantInput', additionalProperties: false },
)
export type TenantInput = Static<typeof TenantInput>

export const TenantPatch = Type.Object(tenantSettings, {
  $id: 'TenantPatch',
  additionalProperties: false,
  minProperties: 1,
})
export type TenantPatch = Static<typeof TenantPatch>

export const Tenant = Type.Object(
  {
    name: Type.String(),
    max_jobs: orNull(Type.Integer(), 'Null: the setting of the server'),
    create_per_second: orNull(Type.Number(), 'Null: the setting of the server'),
    min_interval_seconds: orNull(Type.Integer(), 'Null: the setting of the server'),
    weight: Type.Integer(),
    max_concurrent: orNull(Type.Integer(), 'Null: any number'),
    allow_commands: Type.Boolean({ description: 'May register jobs with `command` targets' }),
    created_at: instant('When it was made'),
  },
  { $id: 'Tenant' },
)
export type Tenant = Static<typeof Tenant>

export const TenantList = Type.Object(
  { data: Type.Array(Tenant), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'TenantList' },
)
export type TenantList = Static<typeof TenantList>

/** One change that somebody made. Written with the change, never altered, never removed. */
export const AuditEntry = Type.Object(
  {
    entry_id: Type.Integer({ description: 'Grows with time' }),
    at: instant('When'),
    actor: Type.String({ description: 'The name of the key; `local` where none was needed' }),
    actor_key_id: orNull(Type.String(), 'key_…; null for `local`'),
    action: Type.String({ description: 'The operationId of the call' }),
    subject: Type.String({ description: 'What was changed: an id, or a name' }),
    detail: Type.Unknown({ description: 'What of it; secrets are left out' }),
    request_id: orNull(Type.String(), 'X-Request-Id of the call'),
  },
  { $id: 'AuditEntry' },
)
export type AuditEntry = Static<typeof AuditEntry>

export const AuditList = Type.Object(
  { data: Type.Array(AuditEntry), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'AuditList' },
)
export type AuditList = Static<typeof AuditList>
