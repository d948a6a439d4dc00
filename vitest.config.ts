import { defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'

// Sources, not builds: a test sees the code as it is. Only e2e tests start the built command.
// Not `module`: what a package has under it is for bundlers, and Node itself cannot load all of it (@opentelemetry/api).
const conditions = ['carillon:source', ...defaultServerConditions.filter((name) => name !== 'module')]
const shared = { resolve: { conditions }, ssr: { resolve: { conditions } } }

export default defineConfig({
  ...shared,
  test: {
    projects: [
      {
        ...shared,
        test: {
          name: 'unit',
          sequence: { groupOrder: 0 },
          include: [
            'packages/*/src/**/*.test.ts',
            'packages/server/test/simulation/**/*.test.ts',
            'chaos/{checker,faults}/**/*.test.ts',
          ],
          exclude: ['**/*.db.test.ts'],
          setupFiles: ['packages/server/test/kit/fixed-seed.ts'],
          testTimeout: 30_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'db',
          sequence: { groupOrder: 1 },
          include: ['packages/server/src/**/*.db.test.ts', 'packages/server/test/db/**/*.test.ts'],
          globalSetup: ['packages/server/test/kit/global-postgres.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        ...shared,
        test: {
          name: 'e2e',
          sequence: { groupOrder: 2 },
          include: [
            'packages/server/test/e2e/**/*.test.ts',
            'packages/cli/test/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // Real processes, a Postgres and ports of its own for each file: mostly waiting for instants. More at once would
          // make two cores late for them.
          maxWorkers: 2,
        },
      },
    ],
  },
})
