import { CarillonError, type Run } from '@carillon/contract'
import type { RunStreamPort } from '../http/api.js'
import { RunTail } from '../pipeline/record/run-tail.js'
import { placeFrom } from '../pipeline/record/tail-place.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'
import { utcText } from '../time/iso-text.js'

export interface RunStreams {
  services: Service[]
  port(jobOf: (tenant: number, jobId: string) => Promise<number>): RunStreamPort
  /** Ends every stream, and every one that still comes. */
  end(): void
}

const lookMs = 500

/** Who watches runs at this process. */
export function composeRunStreams(context: Context): RunStreams {
  const { database, clock } = context
  const tail = new RunTail({ database, clock })
  const looking = loop(context, 'tail', lookMs, () => tail.runOnce())
  const open = new Set<() => void>()
  let ended = false
  return {
    services: [looking],
    port: (jobOf) => ({
      async prepare(tenant, { jobId, from: text }) {
        const job = jobId === null ? null : await jobOf(tenant, jobId)
        const from = text === null ? null : placeFrom(text)
        if (text !== null && from === null) throw noPlace()
        return {
          start({ onRuns, onGap, onClosing }) {
            const stop = tail.watch({
              tenant,
              job,
              from,
              onRuns: (events, place) =>
                onRuns(
                  events.map(({ id, run }) => ({ id, data: textOf(run) })),
                  place,
                ),
              onGap: ({ from: since, to, reason }, place) =>
                onGap({ from: utcText(since), to: utcText(to), reason }, place),
            })
            open.add(onClosing)
            looking.wake()
            if (ended) onClosing()
            return () => {
              open.delete(onClosing)
              stop()
            }
          },
        }
      },
    }),
    end() {
      ended = true
      for (const close of [...open]) close()
    },
  }
}

const texts = new WeakMap<Run, string>()

/** The same run goes to many: it is written out once. */
function textOf(run: Run): string {
  const known = texts.get(run)
  if (known !== undefined) return known
  const text = JSON.stringify(run)
  texts.set(run, text)
  return text
}

function noPlace(): CarillonError {
  return new CarillonError('invalid_cursor', {
    detail: 'Last-Event-ID is no id of this stream.',
    hint: 'Send the id of the last event unchanged, or none to begin now.',
    errors: [{ pointer: 'header:Last-Event-ID', message: 'is no id of this stream' }],
  })
}
