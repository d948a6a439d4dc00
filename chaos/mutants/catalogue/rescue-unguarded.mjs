const recover = 'server/dist/pipeline/recover'

/** @type {import('../build.mjs').Mutant} */
export const rescueUnguarded = {
  guard: 'a rescue takes runs back only from a process that was declared dead, or has left',
  edits: [
    {
      file: `${recover}/rescue.sql`,
      from: `
    AND EXISTS (SELECT FROM carillon.incarnations i WHERE i.incarnation = :incarnation AND i.state <> 'alive')`,
      to: '',
    },
  ],
  mask: {
    by: 'the list of processes to look at, which names only those',
    edits: [
      {
        file: `${recover}/orphaning.sql`,
        from: "WHERE state <> 'alive' AND rescued_at IS NULL AND 'worker' = ANY (roles)",
        to: "WHERE 'worker' = ANY (roles)",
      },
    ],
  },
}
