import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { CarillonError, type ErrorCode, toProblem } from '@carillon/contract'
import { codeOf } from '../db/errors.js'
import { problemMediaType } from './problems.js'
import { requestIdOf } from './request-id.js'

/** Answers what never became a request: broken HTTP, headers without end, a sender too slow to wait for. */
export function answerClientError(error: Error, socket: Socket): void {
  if (codeOf(error) === 'ECONNRESET' || !socket.writable || answerHasBegun(socket)) {
    socket.destroy()
    return
  }
  socket.write(rawProblem(errorCodeOf(error)))
  socket.destroySoon()
}

function errorCodeOf(error: Error): ErrorCode {
  switch (codeOf(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    default:
      return 'malformed_request'
  }
}

function rawProblem(code: ErrorCode): string {
  const requestId = requestIdOf({ headers: {} })
  const problem = toProblem(new CarillonError(code), requestId)
  const body = JSON.stringify(problem)
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/** Node keeps the answer under way on the socket; a second status line inside it would garble both. */
function answerHasBegun(socket: Socket): boolean {
  return (socket as Socket & { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent === true
}
