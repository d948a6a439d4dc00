import { now } from './clock.js'

interface Beat {
  subscribe: (listener: () => void) => () => void
  time: () => number
}

const beats = new Map<number, Beat>()

/** One timer for everybody who wants the time this often, while anybody does and the tab is seen. */
export function beatOf(every: number): Beat {
  const known = beats.get(every)
  if (known !== undefined) return known
  const made = beat(every)
  beats.set(every, made)
  return made
}

function beat(every: number): Beat {
  const listeners = new Set<() => void>()
  let time = now()
  let timer: ReturnType<typeof setInterval> | undefined
  const tell = () => {
    time = now()
    for (const listener of listeners) listener()
  }
  const settle = () => {
    clearInterval(timer)
    timer = undefined
    if (listeners.size === 0 || document.hidden) return
    timer = setInterval(tell, every)
    tell()
  }
  return {
    subscribe: (listener) => {
      listeners.add(listener)
      if (listeners.size === 1) {
        document.addEventListener('visibilitychange', settle)
        settle()
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        document.removeEventListener('visibilitychange', settle)
        settle()
      }
    },
    // Between two beats the same: whoever is drawn meanwhile says what the others say.
    time: () => {
      if (timer === undefined && now() - time > every) time = now()
      return time
    },
  }
}
