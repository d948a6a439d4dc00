// A client of raw sockets: on two cores a richer one would take from the server what is to be measured.
import { connect } from 'node:net'

export function requestOf(path, body, headers = '') {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** Sends one request after another over one connection; answers how many had the status that was expected. */
export function converse(address, next, expected) {
  return new Promise((resolve, reject) => {
    let count = 0
    let left = -1
    let head = ''
    const socket = connect(address)
    socket.setNoDelay(true)
    const send = () => {
      const request = next()
      if (request === null) {
        socket.end()
        resolve(count)
      } else socket.write(request)
    }
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The server closed the connection.')))
    socket.on('data', (chunk) => {
      if (left < 0) {
        head += chunk.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        const length = /content-length: (\d+)/i.exec(head)
        if (!head.startsWith(`HTTP/1.1 ${expected}`) || length === null) {
          reject(new Error(`unexpected answer: ${head.slice(0, 600)}`))
          socket.destroy()
          return
        }
        left = Number(length[1]) - (head.length - end - 4)
      } else left -= chunk.length
      if (left > 0) return
      count += 1
      left = -1
      head = ''
      send()
    })
  })
}
