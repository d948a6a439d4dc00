import { describe, expect, it } from 'vitest'
import { placeOf, routeOf, to, withParams } from './location.js'

describe('the address', () => {
  it('is the state of a view: what is set is read back', () => {
    const url = withParams(placeOf('/jobs'), { q: 'a&b=ü', tag: ['x', 'y z'], state: 'paused' })
    const { path, search } = placeOf(url)
    expect(path).toBe('/jobs')
    expect(search.get('q')).toBe('a&b=ü')
    expect(search.getAll('tag')).toEqual(['x', 'y z'])
  })

  it('loses what is cleared, and keeps the rest', () => {
    const place = placeOf('/jobs?q=a&state=paused&cursor=c')
    expect(withParams(place, { q: '', cursor: null })).toBe('/jobs?state=paused')
    expect(withParams(place, { q: undefined, state: null, cursor: null })).toBe('/jobs')
  })

  it('may end in a slash', () => expect(placeOf('/jobs/').path).toBe('/jobs'))

  it.each([
    ['/', { view: '', rest: [] }],
    ['/jobs/job_1/edit', { view: 'jobs', rest: ['job_1', 'edit'] }],
    ['/targets/a%2Fb', { view: 'targets', rest: ['a/b'] }],
    ['/jobs/%E0%A4%A', { view: 'jobs', rest: ['%E0%A4%A'] }],
  ])('%s leads to its view', (path, route) => expect(routeOf(path)).toEqual(route))

  it('of a thing with an odd name leads back to it', () => {
    const odd = 'a/b?c#d%'
    expect(routeOf(placeOf(to.job(odd)).path).rest).toEqual([odd])
    expect(placeOf(to.target(odd)).search.get('host')).toBe(odd)
  })
})
