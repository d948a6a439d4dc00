const record = 'server/dist/pipeline/record'

/** @type {import('../build.mjs').Mutant} */
export const tokenUnchecked = {
  guard: 'the token in the statements that close: a result counts only with the lease that it was made under',
  edits: [
    {
      file: `${record}/close.sql`,
      from: 'AND q.token = r.token AND q.holder = :holder',
      to: 'AND q.holder = :holder',
    },
    // The ledger says under which token was written, not under which one the run was held.
    {
      file: `${record}/close.sql`,
      from: 'q.origin, q.seq, q.partition, q.token, q.tenant,',
      to: 'q.origin, q.seq, q.partition, r.token, q.tenant,',
    },
    {
      file: `${record}/close-plain.sql`,
      from: ' AND (q.token IN (SELECT token FROM result)) = true\n',
      to: '\n',
    },
    {
      file: `${record}/close-plain.sql`,
      from: '            q.token, q.catch_up,',
      to: '            (:tokens)[array_position(:places, q.ctid)] AS token, q.catch_up,',
    },
  ],
  mask: {
    by: 'the holder: whoever lost a run does not hold it, unless he got it again',
    edits: [
      { file: `${record}/close.sql`, from: '      AND q.holder = :holder\n', to: '' },
      { file: `${record}/close-plain.sql`, from: '    AND q.holder = :holder\n', to: '' },
    ],
  },
}
