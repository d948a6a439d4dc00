/** @type {import('../build.mjs').Mutant} */
export const hostnameAsOwner = {
  guard: 'the random id of a process: two lives never share a name, and one that has ended never comes back',
  edits: [
    {
      file: 'server/dist/cluster/postgres/coordination.js',
      from: '        const incarnation = newIncarnation();\n',
      to: `        // The name of the machine and what the process is there for: as people name their nodes.
        const named = createHash('sha256').update([host, ...roles].join('/')).digest();
        const incarnation = Number(named.readBigUInt64BE() >> 11n);
`,
    },
    {
      file: 'server/dist/cluster/postgres/coordination.js',
      from: "import { PostgresLife } from './life.js';",
      to: "import { createHash } from 'node:crypto';\nimport { PostgresLife } from './life.js';",
    },
    // Without this the second life would not even begin: the key refuses a name that was ever used.
    {
      file: 'server/dist/cluster/postgres/join.sql',
      from: 'VALUES (:incarnation, :host, :pid, :roles, :tasks, :commands, :code_version)\n',
      to: `VALUES (:incarnation, :host, :pid, :roles, :tasks, :commands, :code_version)
ON CONFLICT (incarnation) DO UPDATE
SET pid = excluded.pid, state = 'alive', ended_at = NULL, rescued_at = NULL, beat_at = excluded.beat_at
`,
    },
  ],
}
