import { type Static, Type } from 'typebox'
import { limits } from './limits.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })

const fields = {
  id: Type.String({ description: 'sgn_…' }),
  hint: Type.String({ description: 'The last characters, to tell which one a receiver has' }),
  created_at: instant('When it was made'),
  retires_at: Type.Union([instant('Until when it signs beside newer ones'), Type.Null()], {
    description: 'Null: it is the current one',
  }),
  signs_by: instant('From then on every worker that reaches the database signs with it'),
}

/** A secret that webhooks are signed with, without the secret. */
export const SigningSecret = Type.Object(fields, { $id: 'SigningSecret' })
export type SigningSecret = Static<typeof SigningSecret>

export const SigningSecretList = Type.Object(
  { data: Type.Array(SigningSecret) },
  { $id: 'SigningSecretList' },
)
export type SigningSecretList = Static<typeof SigningSecretList>

/** With the secret: answered only where it is asked for. */
export const RevealedSigningSecret = Type.Object(
  {
    ...fields,
    secret: Type.String({ description: 'whsec_ and base64, as Standard Webhooks libraries take it' }),
  },
  { $id: 'RevealedSigningSecret' },
)
export type RevealedSigningSecret = Static<typeof RevealedSigningSecret>

export const RotateInput = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.overlapSeconds,
        default: 86_400,
        description: 'How long the secret before goes on signing beside the new one; 0 where it has leaked',
      }),
    ),
  },
  { $id: 'RotateInput', additionalProperties: false },
)
export type RotateInput = Static<typeof RotateInput>
