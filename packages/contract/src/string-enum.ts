import { Type } from 'typebox'

/** A plain JSON Schema `enum` of strings: one clear message for a wrong value, where a union gives one per member. */
export function stringEnum<const Values extends readonly string[]>(
  values: Values,
  options: { default?: Values[number]; description?: string } = {},
) {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options })
}
