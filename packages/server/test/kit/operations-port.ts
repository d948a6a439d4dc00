import { CarillonError, type Operation } from '@carillon/contract'
import type { OperationsPort } from '../../src/http/api.js'

/** Operations in memory, behind the port that the HTTP room is handed. */
export class MemoryOperations implements OperationsPort {
  readonly stored = new Map<string, Operation>()
  readonly asked: unknown[] = []

  preview: OperationsPort['preview'] = (tenant, input) => {
    this.asked.push({ tenant, preview: input })
    return Promise.resolve({ matched: 2, sample: [{ job_id: 'job_1', name: 'one' }] })
  }

  start: OperationsPort['start'] = (tenant, input, inside) => {
    this.asked.push({ tenant, start: input, ...(inside !== undefined && { inside }) })
    const operation: Operation = {
      operation_id: `op_${String(this.stored.size + 1).padStart(26, '0')}`,
      action: input.action,
      filter: input.filter ?? {},
      state: 'running',
      total: 2,
      done: 0,
      failed: 0,
      errors: [],
      created_at: '2026-11-01T09:00:00Z',
      finished_at: null,
    }
    this.stored.set(operation.operation_id, operation)
    return Promise.resolve(operation)
  }

  list: OperationsPort['list'] = (tenant, query) => {
    this.asked.push({ tenant, list: query })
    return Promise.resolve({ data: [...this.stored.values()], next_cursor: null })
  }

  get: OperationsPort['get'] = (_tenant, operationId) => this.find(operationId)

  cancel: OperationsPort['cancel'] = async (tenant, operationId) => {
    this.asked.push({ tenant, cancel: operationId })
    const cancelled: Operation = { ...(await this.find(operationId)), state: 'cancelled' }
    this.stored.set(operationId, cancelled)
    return cancelled
  }

  private find(operationId: string): Promise<Operation> {
    const operation = this.stored.get(operationId)
    return operation === undefined
      ? Promise.reject(new CarillonError('operation_not_found'))
      : Promise.resolve(operation)
  }
}
