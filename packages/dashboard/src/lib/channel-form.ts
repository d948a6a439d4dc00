import type {
  AlertChannel,
  AlertChannelInput,
  AlertChannelPatch,
  AlertChannelType,
  AlertSeverity,
} from '@carillon/contract'

/** What the form of a channel holds, as people type it. Secrets begin empty: nobody can read them again. */
export interface ChannelForm {
  name: string
  type: AlertChannelType
  min_severity: AlertSeverity
  url: string
  headers: string
  smtp_host: string
  smtp_port: string
  smtp_user: string
  smtp_password: string
  smtp_tls: string
  from: string
  to: string
}

export function channelForm(channel?: AlertChannel): ChannelForm {
  return {
    name: channel?.name ?? '',
    type: channel?.type ?? 'webhook',
    min_severity: channel?.min_severity ?? 'warning',
    url: '',
    headers: '',
    smtp_host: channel?.smtp_host ?? '',
    smtp_port: String(channel?.smtp_port ?? 587),
    smtp_user: channel?.smtp_user ?? '',
    smtp_password: '',
    smtp_tls: channel?.smtp_tls ?? 'starttls',
    from: channel?.from ?? '',
    to: channel?.to.join(', ') ?? '',
  }
}

/** Only what its type has, and only what was given: of a channel that there is, the rest stays, secrets too. */
export function channelPatch(form: ChannelForm): AlertChannelPatch {
  const given = form.type === 'email' ? mailSettings(form) : postSettings(form)
  return { name: form.name.trim(), min_severity: form.min_severity, ...given }
}

export function channelInput(form: ChannelForm): AlertChannelInput {
  return { ...channelPatch(form), name: form.name.trim(), type: form.type }
}

function postSettings({ url, headers }: ChannelForm): AlertChannelPatch {
  return {
    ...(url.trim() !== '' && { url: url.trim() }),
    ...(headers.trim() !== '' && { headers: readHeaders(headers) }),
  }
}

function mailSettings(form: ChannelForm): AlertChannelPatch {
  const { smtp_host: host, smtp_port: port, smtp_user: user, smtp_password: password, from } = form
  const to = form.to
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  return {
    ...(host.trim() !== '' && { smtp_host: host.trim() }),
    ...(port.trim() !== '' && { smtp_port: Number(port) }),
    smtp_tls: form.smtp_tls as NonNullable<AlertChannelPatch['smtp_tls']>,
    ...(user.trim() !== '' && { smtp_user: user.trim() }),
    ...(password !== '' && { smtp_password: password }),
    ...(from.trim() !== '' && { from: from.trim() }),
    ...(to.length > 0 && { to }),
  }
}

/** One a line. What has no colon is sent as it is: the server says what is wrong with it. */
export function readHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}
