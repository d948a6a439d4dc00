import type { Operation, OperationPreview, OperationInput, Page } from '@carillon/contract'
import { type CallApi, keyOf, type OnceOptions, pages, pathTo } from './paths.js'
import type { TransportOptions } from './transport.js'

export interface OperationCalls {
  /** One action on all jobs that a filter matches, in the background. */
  readonly operations: {
    start(input: OperationInput, options?: OnceOptions): Promise<Operation>
    /** How many jobs would be touched, and some of them. */
    count(input: OperationInput): Promise<OperationPreview>
    list(page?: { limit?: number; cursor?: string }): Promise<Page<Operation>>
    iterate(page?: { limit?: number }): AsyncGenerator<Operation, void, undefined>
    get(operationId: string): Promise<Operation>
    /** What was done stays done. */
    cancel(operationId: string): Promise<Operation>
    /** Asks until it has ended. `onProgress` is told after every look. */
    wait(operationId: string, options?: OperationWaitOptions): Promise<Operation>
  }
}

export interface OperationWaitOptions {
  /** Between two looks. Default 500. */
  everyMs?: number
  signal?: AbortSignal
  onProgress?: (operation: Operation) => void
}

const operationsPath = '/api/v1/operations'

export function operationCalls(call: CallApi, sleep: TransportOptions['sleep']): OperationCalls {
  const pathOf = (id: string) => pathTo(operationsPath, id, 'the id of an operation')
  const list: OperationCalls['operations']['list'] = (page = {}) =>
    call<Page<Operation>>({ method: 'GET', path: operationsPath, query: { ...page } })
  const get = async (id: string) => await call<Operation>({ method: 'GET', path: pathOf(id) })
  return {
    operations: {
      start: (input, options) =>
        call<Operation>({
          method: 'POST',
          path: operationsPath,
          body: input,
          idempotencyKey: keyOf(options),
        }),
      count: (input) =>
        call<OperationPreview>({ method: 'POST', path: operationsPath, body: { ...input, dry_run: true } }),
      list,
      iterate: (page = {}) => pages(list, page),
      get,
      cancel: async (id) => await call<Operation>({ method: 'POST', path: `${pathOf(id)}/cancel`, body: {} }),
      async wait(id, { everyMs = 500, signal, onProgress } = {}) {
        for (;;) {
          signal?.throwIfAborted()
          const operation = await get(id)
          onProgress?.(operation)
          if (operation.state !== 'running') return operation
          await sleep(everyMs, signal)
        }
      },
    },
  }
}
