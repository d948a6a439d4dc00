/** One request on the way to an answer: the first one, or where a redirect led. */
export interface Hop {
  url: URL
  method: string
  /** Whether it is still the request with the body, or became a plain GET. */
  withBody: boolean
  /** Whether it left the origin that the job's own headers are meant for. */
  foreign: boolean
}

const redirects = new Set([301, 302, 303, 307, 308])

export function isRedirect(status: number): boolean {
  return redirects.has(status)
}

/** Where a redirect leads, by the rules of the Fetch standard, or why it is not followed. */
export function nextHop(hop: Hop, status: number, location: string | undefined): Hop | { refusal: string } {
  if (location === undefined || location === '') return { refusal: 'it names no location' }
  if (!URL.canParse(location, hop.url.href)) return { refusal: 'its location cannot be read' }
  const url = new URL(location, hop.url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { refusal: `its location has the scheme "${url.protocol.slice(0, -1)}"` }
  if (url.username !== '' || url.password !== '')
    return { refusal: 'its location has a user name or password in it' }
  if (hop.url.protocol === 'https:' && url.protocol === 'http:')
    return { refusal: 'it leads from https to http, where anybody on the way could read the request' }
  const becomesGet = status === 303 || (hop.method === 'POST' && (status === 301 || status === 302))
  return {
    url,
    method: becomesGet ? 'GET' : hop.method,
    withBody: hop.withBody && !becomesGet,
    // Once away it stays away: a way back over a foreign origin is that origin's choice, not the job's.
    foreign: hop.foreign || url.origin !== hop.url.origin,
  }
}
