import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

function bench(...args: string[]) {
  return spawnSync(process.execPath, ['bench/run.mjs', ...args], { cwd: root, encoding: 'utf8' })
}

describe('npm run bench', () => {
  it('measures the wheel: every figure is there, and no timer is lost, doubled or early', () => {
    const { status, stdout } = bench('wheel', '--n', '20000', '--json')
    expect(status).toBe(0)
    const figures = JSON.parse(stdout) as Record<string, number>
    expect(figures).toMatchObject({ workload: 'wheel', n: 20_000, lost: 0, doubled: 0, early: 0 })
    for (const name of [
      'operations_per_s',
      'operations_per_cpu_s',
      'inserts_per_s',
      'expiries_per_s',
      'cancels_per_s',
      'bytes_per_timer',
    ]) {
      expect(figures[name], name).toBeGreaterThan(0)
    }
  })

  it('prints the wheel as a table for people', () => {
    const { status, stdout } = bench('wheel', '--n', '1000')
    expect(status).toBe(0)
    expect(stdout).toMatch(/1,000 timers, medians of \d+ repeats/)
    expect(stdout).not.toMatch(/NaN|undefined/)
  })

  it('names the workloads when asked for one that is not there', () => {
    const { status, stderr } = bench('whel')
    expect(status).toBe(2)
    expect(stderr).toMatch(/no workload "whel"\. Known: .*wheel/)
  })
})
