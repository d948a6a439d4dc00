import { lookup } from 'node:dns/promises'
import { isIP, Socket } from 'node:net'
import { type AddressGuard, BlockedAddressError } from '../../../targets/address-guard.js'
import { type Message, mailOf } from './message.js'
import type { ChannelSettings } from './senders.js'

/**
 * Sends one mail, within `timeoutMs` in all. The library is loaded with the first: most fleets send none. The name of the server is looked up here, and an
 * address that the guard permits is dialled: a check any earlier could be answered with another address.
 */
export async function sendMail(
  settings: ChannelSettings,
  message: Message,
  { guard, timeoutMs, signal }: { guard: AddressGuard; timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  const socket = new Socket()
  const late = deadline(settings.smtp_host ?? '', timeoutMs, signal)
  try {
    await Promise.race([talk(settings, message, { guard, timeoutMs, socket }), late.passed])
  } finally {
    late.cancel()
    socket.destroy()
  }
}

/** Rejects when the time for all of it is over. A server that says a little now and then keeps each step from being late. */
function deadline(host: string, timeoutMs: number, signal: AbortSignal) {
  const all = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  let cancel = () => undefined as void
  const passed = new Promise<never>((_, reject) => {
    const onPassed = () => reject(new Error(`${host} did not take the mail within ${timeoutMs / 1000} s`))
    cancel = () => all.removeEventListener('abort', onPassed)
    if (all.aborted) onPassed()
    else all.addEventListener('abort', onPassed, { once: true })
  })
  return { passed, cancel: () => cancel() }
}

async function talk(
  settings: ChannelSettings,
  message: Message,
  { guard, timeoutMs, socket }: { guard: AddressGuard; timeoutMs: number; socket: Socket },
): Promise<void> {
  const host = settings.smtp_host ?? ''
  const { createTransport } = await import('nodemailer')
  const tls = settings.smtp_tls ?? 'starttls'
  const transport = createTransport({
    host: await permittedAddress(host, guard),
    socket,
    port: settings.smtp_port ?? 587,
    secure: tls === 'tls',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    name: 'carillon',
    tls: isIP(host) === 0 ? { servername: host } : {},
    ...(settings.smtp_user !== undefined && {
      auth: { user: settings.smtp_user, pass: settings.smtp_password ?? '' },
    }),
    // The deadline for all of it comes first, so that there is one answer to a server that is late.
    connectionTimeout: 2 * timeoutMs,
    greetingTimeout: 2 * timeoutMs,
    socketTimeout: 2 * timeoutMs,
    dnsTimeout: 2 * timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const { subject, text } = mailOf(message)
  const address = settings.from ?? ''
  try {
    await transport.sendMail({
      from: address,
      to: settings.to ?? [],
      subject,
      text,
      messageId: `<${message.id}@carillon>`,
      headers: { 'X-Carillon-Alert': message.alertId, 'Auto-Submitted': 'auto-generated' },
    })
  } catch (error) {
    // What a server answers may repeat who logged in: its code says enough.
    throw new Error(`${host} did not take the mail: ${reasonOf(error)}`)
  } finally {
    transport.close()
  }
}

async function permittedAddress(host: string, guard: AddressGuard): Promise<string> {
  const found = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }]
  const permitted = found.find(({ address }) => guard.refusal(address) === undefined)
  if (permitted !== undefined) return permitted.address
  const [first] = found
  const address = first?.address ?? host
  throw new BlockedAddressError(host, address, guard.refusal(address) ?? 'refused')
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const words = [typeof code === 'string' ? code : error.name]
  if (typeof responseCode === 'number') words.push(`answer ${responseCode}`)
  if (code === 'ESOCKET' || code === 'ECONNECTION' || code === 'ETIMEDOUT') words.push(error.message)
  return words.join(', ')
}
