import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { defineTask } from '@carillon/sdk'
import { describe, expect, test } from 'vitest'
import { deliver, type Targets } from '../../src/pipeline/execute/deliver.js'
import { createAddressGuard } from '../../src/targets/address-guard.js'
import { createCommandTarget } from '../../src/targets/command.js'
import { createHttpTarget } from '../../src/targets/http.js'
import { createTaskRegistry } from '../../src/targets/task-registry.js'
import { createTaskTarget } from '../../src/targets/task.js'
import { hands, onlyRun } from '../kit/letters.js'
import { serve } from '../kit/local-target.js'
import { ledgerOf, putRuns } from '../kit/rows.js'
import type { NodeOptions, TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

describe('the target of a run that is cancelled is really stopped:', () => {
  /** The real targets, one of which is given. */
  function delivering(targets: Partial<Targets>): NonNullable<NodeOptions['deliver']> {
    return (run, definition, signal, begun) => deliver(targets as Targets, run, definition, signal, begun)
  }

  async function cancelled(
    node: TestNode,
    job: { key: number },
    stopped: () => boolean | Promise<boolean>,
  ): Promise<void> {
    await hands(node).runs.cancel(1, await onlyRun(house(), job))
    await node.worker.lookOnce()
    await house().during(until('the target is stopped', stopped))
    await house().finished(node)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancel_requested' },
    ])
  }

  test('a webhook sees its connection end', async () => {
    let [came, gone] = [false, false]
    const { url } = await serve((request) => {
      came = true
      request.socket.once('close', () => (gone = true))
    })
    const http = createHttpTarget({
      guard: createAddressGuard({ allowedNetworks: [], allowLoopback: true }),
      now: () => Date.now(),
    })
    const node = await house().node({ deliver: delivering({ http }) })
    const job = await node.register()
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || jsonb_build_object('target', jsonb_build_object('type', 'http', 'url', $2::text)) WHERE job = $1`,
      [job.key, url],
    )
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await until('the request has come', () => came)
    await cancelled(node, job, () => gone)
    await http.close()
  })

  test('a task sees its signal', async () => {
    let signal: AbortSignal | undefined
    const work = defineTask({
      id: 'task',
      run: (_payload, context) => {
        signal = context.signal
        return new Promise((_resolve, reject) =>
          context.signal.addEventListener('abort', () => reject(new Error('I was stopped'))),
        )
      },
    })
    const task = createTaskTarget(createTaskRegistry([work]))
    const node = await house().node({ deliver: delivering({ task }) })
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await until('the task runs', () => signal !== undefined)
    await cancelled(node, job, () => signal?.aborted ?? false)
    expect(signal?.reason).toMatchObject({ message: 'the run was cancelled' })
  })

  test('a command is killed', async () => {
    const note = join(mkdtempSync(join(tmpdir(), 'carillon-cancel-')), 'pid')
    const command = createCommandTarget({ allowed: true, inherited: process.env })
    const node = await house().node({ deliver: delivering({ command }) })
    const job = await node.register()
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || jsonb_build_object('target', jsonb_build_object('type', 'command', 'shell', $2::text)) WHERE job = $1`,
      [job.key, `echo $$ > ${note}; exec sleep 600`],
    )
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    const pid = () => (existsSync(note) ? Number(readFileSync(note, 'utf8')) : 0)
    await until('the command runs', () => pid() > 0)
    await cancelled(node, job, () => !isAlive(pid()))
    rmSync(dirname(note), { recursive: true })
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
