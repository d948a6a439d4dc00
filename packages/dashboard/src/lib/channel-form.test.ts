import type { AlertChannel } from '@carillon/contract'
import { expect, test } from 'vitest'
import { channelForm, channelInput, channelPatch, readHeaders } from './channel-form.js'

test('a new channel has what its type has, and nothing that was left empty', () => {
  const form = { ...channelForm(), name: ' pager ', url: 'https://a.test/x', to: 'a@b.test' }
  expect(channelInput(form)).toEqual({
    ...{ name: 'pager', type: 'webhook', min_severity: 'warning', url: 'https://a.test/x' },
  })
  const mail = {
    ...form,
    type: 'email' as const,
    smtp_host: 'mx',
    from: 'c@d.test',
    to: 'a@b.test, e@f.test',
  }
  expect(channelInput(mail)).toEqual({
    ...{ name: 'pager', type: 'email', min_severity: 'warning', smtp_host: 'mx', smtp_port: 587 },
    ...{ smtp_tls: 'starttls', from: 'c@d.test', to: ['a@b.test', 'e@f.test'] },
  })
})

test('a channel that is changed keeps the secrets that nobody typed anew', () => {
  const channel = {
    ...{ name: 'pager', type: 'webhook', min_severity: 'info', url: 'https://a.test/…', header_names: ['X'] },
    ...{ smtp_host: null, smtp_port: null, smtp_user: null, smtp_tls: null, from: null, to: [] },
  } as unknown as AlertChannel
  expect(channelPatch(channelForm(channel))).toEqual({ name: 'pager', min_severity: 'info' })
  const changed = { ...channelForm(channel), headers: 'Authorization: Bearer a:b\n\n X-A : 1' }
  expect(channelPatch(changed)).toMatchObject({ headers: { Authorization: 'Bearer a:b', 'X-A': '1' } })
  expect(readHeaders('no colon')).toEqual({ 'no colon': '' })
})
