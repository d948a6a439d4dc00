import { hiddenValue } from '@carillon/contract'
import { expect, test } from 'vitest'
import { withoutValues } from './hidden-values.js'

test('hides what targets may prove themselves with, wherever they stand, and nothing else', () => {
  const http = { type: 'http', url: 'https://a.test', headers: { Authorization: 'x', 'X-Team': 'y' } }
  const command = { type: 'command', argv: ['a'], env: { TOKEN: 'x' } }
  const shown = { Authorization: hiddenValue, 'X-Team': hiddenValue }
  expect(withoutValues({ data: [{ target: http, name: 'a' }, { definition: { target: command } }] })).toEqual(
    {
      data: [
        { target: { ...http, headers: shown }, name: 'a' },
        { definition: { target: { ...command, env: { TOKEN: hiddenValue } } } },
      ],
    },
  )
  expect(http.headers.Authorization).toBe('x')
})

test('leaves data alone, and what has no such values as it is', () => {
  const answer = {
    payload: { type: 'http', headers: { a: 'b' } },
    data: [1, null, 'text', { type: 'task', headers: { a: 'b' } }, { type: 'http', url: 'u' }],
  }
  expect(withoutValues(answer)).toBe(answer)
})
