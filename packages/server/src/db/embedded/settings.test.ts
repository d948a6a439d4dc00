import { describe, expect, it } from 'vitest'
import type { Surroundings } from './settings.js'
import { settingsFor } from './settings.js'

const GB = 1024 ** 3
const ordinary: Surroundings = {
  port: 5555,
  memoryBytes: 4 * GB,
  freeDiskBytes: 100 * GB,
  logFolder: '/somewhere/log',
  linux: true,
  roomyDevShm: true,
}

function valuesFor(change: Partial<Surroundings>): Record<string, string | number> {
  return Object.fromEntries(settingsFor({ ...ordinary, ...change }))
}

describe('settings', () => {
  it('never trade durability, whatever the machine', () => {
    for (const memoryBytes of [GB / 4, 4 * GB, 512 * GB]) {
      expect(valuesFor({ memoryBytes })).toMatchObject({
        fsync: 'on',
        synchronous_commit: 'on',
        full_page_writes: 'on',
      })
    }
  })

  it('give a quarter of the memory to shared buffers, between 128 MB and 2 GB', () => {
    expect(valuesFor({ memoryBytes: GB / 4 }).shared_buffers).toBe('128MB')
    expect(valuesFor({ memoryBytes: 4 * GB }).shared_buffers).toBe('1024MB')
    expect(valuesFor({ memoryBytes: 64 * GB }).shared_buffers).toBe('2048MB')
  })

  it('let the WAL grow to a tenth of the free disk, between 256 MB and 4 GB', () => {
    expect(valuesFor({ freeDiskBytes: GB }).max_wal_size).toBe('256MB')
    expect(valuesFor({ freeDiskBytes: 10 * GB }).max_wal_size).toBe('1024MB')
    expect(valuesFor({ freeDiskBytes: 1000 * GB }).max_wal_size).toBe('4096MB')
  })

  it('keep shared memory of queries out of a small /dev/shm', () => {
    expect(valuesFor({ roomyDevShm: true }).dynamic_shared_memory_type).toBe('posix')
    expect(valuesFor({ roomyDevShm: false }).dynamic_shared_memory_type).toBe('mmap')
  })

  it('name nothing that only Linux has elsewhere', () => {
    const elsewhere = valuesFor({ linux: false })
    expect(elsewhere).not.toHaveProperty('client_connection_check_interval')
    expect(elsewhere).not.toHaveProperty('dynamic_shared_memory_type')
  })
})
