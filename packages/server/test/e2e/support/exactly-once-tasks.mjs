// Handlers that die, or stop, at the step that their payload names. `effects_made` is a table in Carillon's own database.
import { appendFileSync } from 'node:fs'

/** Once to a run: later attempts get through. */
function end(input, ctx, at) {
  if (input.at !== at || ctx.attempt > 1) return
  process.kill(process.pid, input.signal ?? 'SIGKILL')
}

export default {
  async book(input, ctx) {
    end(input, ctx, 'before')
    const result = await ctx.transaction(async (sql) => {
      end(input, ctx, 'begun')
      await sql`INSERT INTO public.effects_made (run, attempt, token) VALUES (${ctx.runId}, ${ctx.attempt}, ${ctx.fencingToken})`
      end(input, ctx, 'first write')
      await sql`UPDATE public.totals SET booked = booked + 1`
      end(input, ctx, 'last write')
      return { attempt: ctx.attempt }
    })
    end(input, ctx, 'after')
    return result
  },
  /** Notes each time that an effect outside is done. */
  async mail(input, ctx) {
    end(input, ctx, 'before')
    const send = (name) => () => {
      end(input, ctx, `in ${name}`)
      appendFileSync(input.file, `${ctx.runId} ${name}\n`)
      end(input, ctx, `did ${name}`)
      return { name, attempt: ctx.attempt }
    }
    const first = await ctx.once('first', send('first'))
    end(input, ctx, 'between')
    const second = await ctx.once('second', send('second'))
    end(input, ctx, 'after')
    return { first, second }
  },
}
