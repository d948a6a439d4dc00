import { withoutEpochCheck } from './fences.mjs'

const file = 'server/dist/cluster/ownership.js'

/** @type {import('../build.mjs').Mutant} */
export const ownershipKept = {
  guard: 'a renewal that failed or came late is a loss: the owner stops at once',
  edits: [
    {
      file,
      from: `            this.lose(leases);
            throw error;
`,
      to: `            void error;
            return leases;
`,
    },
    {
      file,
      from: '        this.lose(leases.filter(({ partition }) => !kept.has(partition)));\n',
      to: '',
    },
    {
      file,
      from: `            if (trustedUntil <= now)
                continue;
`,
      to: '',
    },
  ],
  mask: {
    by: 'the epoch check, which refuses what an owner fires that should have stopped',
    edits: withoutEpochCheck,
  },
}
