import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/** Free a moment ago: another process may take it before Postgres does, so a failed start looks again. */
export function freePort(): Promise<number> {
  return bindOnce(0)
}

export function portIsFree(port: number): Promise<boolean> {
  return bindOnce(port).then(
    () => true,
    () => false,
  )
}

function bindOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const bound = (server.address() as AddressInfo).port
      server.close(() => resolve(bound))
    })
  })
}
