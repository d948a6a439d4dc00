import { useEffect, useRef, useState } from 'react'
import { useRested } from './hooks.js'
import { setParams, useParam } from './router.js'

/** A field whose text is a parameter of the address once the typing has paused; the way back in the browser fills it again. */
export function useTypedParam(name: string, restsMs: number): [string, (text: string) => void] {
  const [value] = useParam(name)
  const [text, setText] = useState(value)
  const rested = useRested(text, restsMs)
  // What this field wrote itself must not come back over what was typed since.
  const written = useRef(value)
  useEffect(() => {
    if (rested === written.current) return
    written.current = rested
    setParams({ [name]: rested, cursor: null, focus: null })
  }, [name, rested])
  useEffect(() => {
    if (value === written.current) return
    written.current = value
    setText(value)
  }, [value])
  return [text, setText]
}
