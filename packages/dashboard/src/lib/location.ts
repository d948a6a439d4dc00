/** The address bar as state: all that a view shows can be linked to. Pure; router.tsx connects it to the browser. */

export interface Place {
  path: string
  search: URLSearchParams
}

export function placeOf(url: string): Place {
  const { pathname, searchParams } = new URL(url, 'http://carillon.invalid')
  return { path: pathname.replace(/\/+$/, '') || '/', search: searchParams }
}

/** The address with some parameters changed: null, undefined and '' take one away. */
export function withParams(
  place: Place,
  changes: Record<string, string | number | readonly string[] | null | undefined>,
): string {
  const search = new URLSearchParams(place.search)
  for (const [name, value] of Object.entries(changes)) {
    search.delete(name)
    for (const one of [value].flat()) if (one != null && one !== '') search.append(name, String(one))
  }
  const text = search.toString()
  return text === '' ? place.path : `${place.path}?${text}`
}

export interface Route {
  view: string
  /** What follows the view, decoded. */
  rest: string[]
}

/** /jobs/job_1/edit → jobs, [job_1, edit]. A segment that cannot be decoded stays as it is. */
export function routeOf(path: string): Route {
  const [view = '', ...rest] = path.split('/').filter((step) => step !== '')
  return { view, rest: rest.map(decoded) }
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

export const to = {
  job: (id: string, tab?: string) =>
    `/jobs/${encodeURIComponent(id)}${tab === undefined ? '' : `?tab=${tab}`}`,
  run: (id: string) => `/runs/${encodeURIComponent(id)}`,
  letters: (fingerprint?: string) =>
    fingerprint === undefined
      ? '/dead-letters'
      : `/dead-letters?fingerprint=${encodeURIComponent(fingerprint)}`,
  target: (host: string) => `/targets?host=${encodeURIComponent(host)}`,
}
