/** One event of a stream, as the HTML standard has it; fields that Carillon does not use are left out. */
export interface ServerSentEvent {
  event: string
  id: string | undefined
  data: string
}

/** More than any event of Carillon: what grows beyond it is no stream of ours. */
const longestEvent = 4 * 1024 * 1024

/**
 * Events of a body, as they arrive. A comment is `null`: nothing but a sign of life. One with an id and no data says where
 * the stream stands.
 */
export async function* eventsOf(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent | null, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let fields: { event?: string; id?: string; data: string[] } = { data: [] }
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    if (rest.length > longestEvent) throw new Error('An event is longer than 4 MB.')
    // A CR at the end may be half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (fields.data.length > 0 || fields.id !== undefined) {
          yield { event: fields.event ?? 'message', id: fields.id, data: fields.data.join('\n') }
        }
        fields = { data: [] }
      } else if (line.startsWith(':')) {
        yield null
      } else {
        note(fields, line)
      }
    }
  }
}

function note(fields: { event?: string; id?: string; data: string[] }, line: string): void {
  const colon = line.indexOf(':')
  const name = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'data') fields.data.push(value)
  else if (name === 'event') fields.event = value
  else if (name === 'id' && !value.includes('\0')) fields.id = value
}
