import { Type } from 'typebox'
import { limits } from './limits.js'

export const Tag = Type.String({
  minLength: 1,
  maxLength: limits.tag,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/=-]*$',
})

/** Of a query: to which jobs a list is narrowed. */
export const tagFilter = Type.Optional(
  Type.Array(Tag, { maxItems: limits.tags, description: 'Has this tag; repeated: has all of them' }),
)
