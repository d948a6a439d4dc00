/** As far as it is used here: what `@opentelemetry/api` keeps for all its copies in a process. */
interface OpenTelemetryApi {
  context?: {
    active(): unknown
    with(context: unknown, work: () => unknown): unknown
  }
  propagation?: {
    extract(context: unknown, carrier: Carrier, reader: typeof getter): unknown
  }
}
type Carrier = Readonly<Record<string, string>>

/** The name under which every copy of the API, of its first major version, registers what was set up. */
const registered = Symbol.for('opentelemetry.js.api.1')

const getter = {
  keys: (carrier: Carrier) => Object.keys(carrier),
  get: (carrier: Carrier, name: string) => carrier[name],
}

/** Whether somebody has set OpenTelemetry up in this process. Asked for every run: nothing is loaded for it. */
export function isTracing(): boolean {
  const { context, propagation } = api()
  return context !== undefined && propagation !== undefined
}

/** Does some work with the trace of its run as the active context, so that spans of the handler hang below its delivery. */
export function inTrace<Result>(
  { traceparent }: { readonly traceparent: string },
  work: () => Result,
): Result {
  const { context, propagation } = api()
  if (context === undefined || propagation === undefined) return work()
  return context.with(propagation.extract(context.active(), { traceparent }, getter), work) as Result
}

function api(): OpenTelemetryApi {
  return (globalThis as { [registered]?: OpenTelemetryApi })[registered] ?? {}
}
