// Receives webhooks, answers each after a while, and notes which came when.
import { createServer } from 'node:http'
import { Recorder } from '../lib/recorder.mjs'

const answerMs = Number(process.argv[2])
const recorder = new Recorder()
let [connections, inFlight, mostInFlight] = [0, 0, 0]

const server = createServer((request, response) => {
  recorder.note(Number(request.url.slice(1)), 0)
  mostInFlight = Math.max(mostInFlight, ++inFlight)
  request.resume()
  setTimeout(() => {
    inFlight -= 1
    response.end()
  }, answerMs)
})
server.keepAliveTimeout = 60_000
server.on('connection', () => {
  connections += 1
})
server.listen(0, '127.0.0.1', 4_096, () => process.send(server.address().port))
process.on('message', (question) =>
  process.send(
    question === 'count'
      ? recorder.count
      : { arrivals: recorder.records().slice(), connections, mostInFlight },
  ),
)
process.on('disconnect', () => process.exit(0))
