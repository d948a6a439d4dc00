import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { createAddressGuard } from '../../../targets/address-guard.js'
import type { Message } from './message.js'
import { alertsUrl, type Channel, Senders } from './senders.js'

const message: Message = {
  id: 'alert_0000000000001.firing.1.1',
  event: 'firing',
  alertId: 'alert_0000000000001',
  kind: 'failed_in_row',
  severity: 'critical',
  subject: 'nightly <b>failed</b> 3 times',
  detail: { todo: 'look\r\nBcc: evil@example.com' },
  tenant: 'default',
  fleet: false,
  jobId: 'job_1',
  jobName: 'nightly',
  count: 3,
  startsAt: 1_794_833_650_000,
  endsAt: null,
  now: 1_794_833_660_000,
}

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  // The senders before the servers that they are connected to.
  for (const close of closing.splice(0).reverse()) await close()
})

function senders(allowLoopback = true, timeoutMs = 2_000): Senders {
  const made = new Senders({
    guard: createAddressGuard({ allowedNetworks: [], allowLoopback }),
    secretsOf: () => Promise.resolve([Buffer.alloc(32, 7)]),
    alertLivesMs: 240_000,
    timeoutMs,
  })
  closing.push(() => made.close())
  return made
}

async function receiver(status = 200): Promise<{ url: string; bodies: unknown[]; paths: string[] }> {
  const bodies: unknown[] = []
  const paths: string[] = []
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      paths.push(request.url ?? '')
      const text = Buffer.concat(chunks).toString()
      bodies.push(text === '' ? null : JSON.parse(text))
      response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('hunter2')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, paths }
}

const channel = (type: Channel['type'], settings: Channel['settings']): Channel => ({
  tenant: 1,
  type,
  settings,
})

describe('a message', () => {
  test('to Alertmanager has labels that are the same at its end, and an end ahead while it goes on', async () => {
    const { url, bodies, paths } = await receiver()
    const sending = senders()
    await sending.send(channel('alertmanager', { url: `${url}/prefix/` }), message)
    const over = { ...message, event: 'resolved' as const, endsAt: message.startsAt + 5_000 }
    await sending.send(channel('alertmanager', { url: `${url}/prefix` }), over)
    const [[firing], [resolved]] = bodies as [
      { labels: object; endsAt: string }[],
      { labels: object; endsAt: string }[],
    ]
    expect(paths).toEqual(['/prefix/api/v2/alerts', '/prefix/api/v2/alerts'])
    expect(resolved?.labels).toEqual(firing?.labels)
    expect(Date.parse(firing?.endsAt ?? '')).toBe(message.now + 240_000)
    expect(Date.parse(resolved?.endsAt ?? '')).toBe(message.startsAt + 5_000)
  })

  test('to Slack has nothing of a job that Slack would read as markup', async () => {
    const { url, bodies } = await receiver()
    await senders().send(channel('slack', { url }), message)
    expect(bodies).toMatchObject([{ text: '*CRITICAL* nightly &lt;b&gt;failed&lt;/b&gt; 3 times' }])
  })

  test('that is refused or redirected is not taken, and the error says nothing of URL or answer', async () => {
    for (const status of [500, 302]) {
      const { url } = await receiver(status)
      const sent = senders().send(channel('webhook', { url: `${url}/hunter2` }), message)
      await expect(sent).rejects.toThrow(/^127\.0\.0\.1:\d+ answered \d+$/)
    }
  })

  test('goes to no address that the guard refuses, by HTTP or by mail', async () => {
    const { url, bodies } = await receiver()
    const closed = senders(false)
    await expect(closed.send(channel('webhook', { url }), message)).rejects.toThrow('a loopback address')
    const mail = { smtp_host: 'localhost', smtp_port: 1, from: 'a@b.c', to: ['d@e.f'] }
    await expect(closed.send(channel('email', mail), message)).rejects.toThrow('a loopback address')
    await expect(closed.call(url)).rejects.toThrow('a loopback address')
    expect(bodies).toEqual([])
  })

  test('that is not answered in time is not taken', async () => {
    const server = createServer(() => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(senders().send(channel('webhook', { url }), message)).rejects.toThrow(
      'did not answer within 2 s',
    )
  })
})

describe('mail', () => {
  async function mailServer(options: { login?: boolean } = {}) {
    const mails: { from: string; to: string[]; text: string; user: string | null }[] = []
    const server = new SMTPServer({
      disabledCommands: options.login === true ? ['STARTTLS'] : ['STARTTLS', 'AUTH'],
      authOptional: options.login !== true,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        password === 'hunter2' ? done(null, { user: username ?? '' }) : done(new Error('Invalid hunter3')),
      onData(stream, session, done) {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope
          mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            text: Buffer.concat(chunks).toString(),
            user: typeof session.user === 'string' ? session.user : null,
          })
          done()
        })
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
    const { port } = server.server.address() as AddressInfo
    return {
      mails,
      settings: {
        smtp_host: '127.0.0.1',
        smtp_port: port,
        from: 'carillon@example.com',
        to: ['ops@example.com'],
      },
    }
  }

  test('is taken by a mail server, once, to those it is for, whatever the alert is called', async () => {
    const { mails, settings } = await mailServer()
    const odd = { ...message, subject: 'nightly\r\nBcc: evil@example.com' }
    await senders().send(channel('email', { ...settings, smtp_tls: 'none' }), odd)
    expect(mails).toMatchObject([{ from: 'carillon@example.com', to: ['ops@example.com'] }])
    const head = mails[0]?.text.split('\r\n\r\n')[0] ?? ''
    expect(head).toContain(`Message-ID: <${message.id}@carillon>`)
    expect(head).not.toMatch(/^Bcc:/m)
  })

  test('logs in where it is told to; a login that fails says nothing of the password', async () => {
    const { mails, settings } = await mailServer({ login: true })
    const login = { ...settings, smtp_tls: 'none' as const, smtp_user: 'ann' }
    await senders().send(channel('email', { ...login, smtp_password: 'hunter2' }), message)
    expect(mails).toMatchObject([{ user: 'ann' }])
    const refused = senders().send(channel('email', { ...login, smtp_password: 'hunter3' }), message)
    await expect(refused).rejects.toThrow(/EAUTH/)
    await expect(
      senders().send(channel('email', { ...login, smtp_password: 'hunter3' }), message),
    ).rejects.not.toThrow('hunter3')
  })

  /** A server that says a line of a greeting without an end now and then. */
  async function slowServer() {
    const talking = new Set<Socket>()
    const server = createTcpServer((socket) => {
      talking.add(socket)
      const timer = setInterval(() => socket.write('220-wait\r\n'), 50)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        clearInterval(timer)
        talking.delete(socket)
      })
      socket.resume()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      for (const socket of talking) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    })
    const { port } = server.address() as AddressInfo
    const settings = { smtp_host: '127.0.0.1', smtp_port: port, from: 'a@b.c', to: ['d@e.f'] }
    return { talking, mail: channel('email', { ...settings, smtp_tls: 'none' }) }
  }

  test('that a server draws out is given up in time, with its connection', async () => {
    const { talking, mail } = await slowServer()
    await expect(senders().send(mail, message)).rejects.toThrow('did not take the mail within 2 s')
    await expect.poll(() => talking.size).toBe(0)
  })

  test('on its way when its sender is closed ends at once', async () => {
    const { talking, mail } = await slowServer()
    const slow = senders(true, 600_000)
    const sent = slow.send(mail, message)
    const failed = expect(sent).rejects.toThrow('did not take the mail')
    await expect.poll(() => talking.size).toBe(1)
    await slow.close()
    await failed
    await expect.poll(() => talking.size).toBe(0)
  })

  test('is not sent in clear where the server offers no TLS and nobody said that it may', async () => {
    const { mails, settings } = await mailServer()
    await expect(senders().send(channel('email', settings), message)).rejects.toThrow('did not take the mail')
    expect(mails).toEqual([])
  })
})

test('an Alertmanager is reached below its address, however that is written', () => {
  const path = (url: string) => alertsUrl({ url }).pathname
  expect(path('http://am:9093')).toBe('/api/v2/alerts')
  expect(path('http://am:9093/am/')).toBe('/am/api/v2/alerts')
  expect(path('http://am:9093/api/v2/alerts')).toBe('/api/v2/alerts')
})
