import { ApiError, type Client } from '@carillon/sdk'

/** The name of a job, or its id where nobody knows a name any more. */
export type NameOf = (jobId: string) => string

const atOnce = 8
/** A list of more jobs than that is not worth so many calls: the rest is shown by id. */
const mostAsked = 100

/** People know jobs by their names, and runs come with ids: each is looked up once. */
export class JobNames {
  readonly #known = new Map<string, string>()
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Looks up those of these jobs that are not known yet. */
  async of(jobIds: Iterable<string | null>): Promise<NameOf> {
    const unknown = [...new Set(jobIds)].filter((id) => id !== null && !this.#known.has(id)) as string[]
    const asked = unknown.slice(0, mostAsked)
    for (let from = 0; from < asked.length; from += atOnce)
      await Promise.all(asked.slice(from, from + atOnce).map((id) => this.#ask(id)))
    return (id) => this.#known.get(id) ?? id
  }

  async #ask(id: string): Promise<void> {
    try {
      this.#known.set(id, (await this.#client.jobs.get(id)).name)
    } catch (error) {
      // It was deleted, or may not be seen. What was asked for is worth more than a name.
      if (!(error instanceof ApiError)) throw error
      this.#known.set(id, id)
    }
  }
}
