import { type AnchorHTMLAttributes, type MouseEvent, useCallback, useSyncExternalStore } from 'react'
import { type Place, placeOf, withParams } from './location.js'

/** The address bar is the only state of navigation. */
const listeners = new Set<() => void>()
const tell = () => {
  for (const listener of listeners) listener()
}
addEventListener('popstate', tell)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function navigate(url: string, { replace = false } = {}): void {
  if (url === location.pathname + location.search) return
  const leaves = placeOf(url).path !== placeOf(location.href).path
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  tell()
  if (leaves) scrollTo(0, 0)
}

export function usePlace(): Place {
  const url = useSyncExternalStore(subscribe, () => location.pathname + location.search)
  return placeOf(url)
}

/** One parameter of the address, and how to change it. '' is the same as none. */
export function useParam(name: string, { replace = true } = {}): [string, (value: string | null) => void] {
  const value = usePlace().search.get(name) ?? ''
  const set = useCallback(
    (next: string | null) => navigate(withParams(placeOf(location.href), { [name]: next }), { replace }),
    [name, replace],
  )
  return [value, set]
}

export function setParams(changes: Parameters<typeof withParams>[1], options = { replace: true }): void {
  navigate(withParams(placeOf(location.href), changes), options)
}

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    const plain = !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey && event.button === 0
    if (!plain || event.defaultPrevented) return
    event.preventDefault()
    navigate(href)
  }
  return <a href={href} onClick={follow} {...rest} />
}
