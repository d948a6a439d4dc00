import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A page for people at the address of a view. */
    page?: true
  }
}

export interface KnownRoute {
  method: string
  url: string
}

/** Every route of the server, so that a call with the wrong method can be told which methods there are. */
export class KnownRoutes {
  readonly all: KnownRoute[] = []

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ method, url, config }) => {
      // A page for people has the address of a view, and is no call.
      if (config?.page === true) return
      for (const one of [method].flat()) this.all.push({ method: one, url })
    })
  }

  methodsAt(path: string): string[] {
    const methods = this.all.filter(({ url }) => matches(url, path)).map(({ method }) => method)
    return [...new Set(methods)].sort()
  }
}

function matches(pattern: string, path: string): boolean {
  const wanted = steps(pattern)
  const given = steps(path)
  return (
    wanted.length === given.length &&
    wanted.every((step, index) => step.startsWith(':') || step === given[index])
  )
}

function steps(path: string): string[] {
  return path.split('/').filter((step) => step !== '')
}
