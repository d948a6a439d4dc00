import type { Logger } from 'pino'

/** Undoes the start backwards. A step that fails is told and does not keep the others from being done. */
export async function unwind(undo: (() => Promise<void>)[], log: Logger): Promise<void> {
  for (const step of undo.splice(0).reverse()) {
    await step().catch((error: unknown) => log.warn({ err: error }, 'a step of the shutdown failed'))
  }
}

/** Done the first time that it is asked for; whoever asks again has the same answer. */
export function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let done: Promise<Result> | null = null
  return () => {
    done ??= work()
    return done
  }
}
