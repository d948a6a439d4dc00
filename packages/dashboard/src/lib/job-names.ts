import { ApiError } from '@carillon/sdk/browser'
import { useEffect, useState } from 'react'
import { useShared } from './hooks.js'

/** Runs name their job by its id. Names are asked for once, a few at a time, and kept while the page is open. */
const known = new Map<string, string>()
const asked = new Set<string>()
const atOnce = 6

export function useJobNames(ids: readonly string[]): (id: string) => string {
  const { api } = useShared()
  const [, setTurn] = useState(0)
  const missing = [...new Set(ids)].filter((id) => !asked.has(id))
  const key = missing.join(' ')
  useEffect(() => {
    if (key === '') return
    const queue = key.split(' ').filter((id) => !asked.has(id))
    for (const id of queue) asked.add(id)
    const work = async () => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
        try {
          known.set(id, (await api.jobs.get(id)).name)
        } catch (error) {
          // Deleted, or collected: its id is all there is. Whoever did not answer is asked again.
          if (error instanceof ApiError && error.status === 404) known.set(id, id)
          else asked.delete(id)
        }
        setTurn((turn) => turn + 1)
      }
    }
    for (let worker = 0; worker < atOnce; worker++) void work()
  }, [api, key])
  return (id) => known.get(id) ?? id
}

export function rememberName(id: string, name: string): void {
  known.set(id, name)
  asked.add(id)
}
