const firing = 'server/dist/pipeline/fire'

/** @type {import('../build.mjs').Mutant} */
export const cursorBeforeEnqueue = {
  guard: 'one statement for both: the cursor moves and the run is there, or neither',
  edits: [
    {
      file: `${firing}/fire-plain.sql`,
      from: `fired AS (
  INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                              available_at, fired_at, partition, holder, token, leased_at)
  SELECT due, job, tenant, route, version, epoch, next_due, CASE WHEN places IS NOT NULL THEN 0 END, places, max_attempts,
         available_at, clock.now, partition,
         CASE WHEN leased THEN :holder END,
         CASE WHEN leased THEN clock.timeline_base + nextval('carillon.tokens') END,
         CASE WHEN leased THEN clock.now END
  FROM (SELECT *, route = ANY (ARRAY(SELECT lane.route FROM lane)) AS leased FROM moved) moved CROSS JOIN clock
  RETURNING job, token, ctid AS place
)`,
      to: `fired AS (
  SELECT job, NULL::bigint AS token, NULL::tid AS place FROM moved
)`,
    },
    {
      file: `${firing}/fire-plain.js`,
      from: "export const firePlainStatement = statement(new URL('./fire-plain.sql', import.meta.url));",
      to: `export const firePlainStatement = statement(new URL('./fire-plain.sql', import.meta.url));
export const enqueueStatement = statement(new URL('./enqueue-after.sql', import.meta.url));
export function enqueueParams(params, moved) {
    const { jobs, job_epochs, dues, available_ats, next_dues, versions, routes, places, max_attempts } = params;
    return { jobs, job_epochs, dues, available_ats, next_dues, versions, routes, places, max_attempts, moved };
}`,
    },
    {
      file: `${firing}/proposing.js`,
      from: 'import { firePlainStatement,',
      to: 'import { enqueueParams, enqueueStatement, firePlainStatement,',
    },
    {
      file: `${firing}/proposing.js`,
      from: 'const [answer] = await database.run(firePlainStatement, plainParams(self(), owned, ticks, receiver));',
      to: `const params = plainParams(self(), owned, ticks, receiver);
            const [answer] = await database.run(firePlainStatement, params);
            await database.run(enqueueStatement, enqueueParams(params, answer?.moved ?? []));`,
    },
  ],
  added: [
    {
      file: `${firing}/enqueue-after.sql`,
      text: `-- @plan each-time
-- @param jobs bigint[]
-- @param job_epochs bigint[]
-- @param dues bigint[]
-- @param available_ats bigint[]
-- @param next_dues bigint[]
-- @param versions int[]
-- @param routes int[]
-- @param places smallint[]
-- @param max_attempts smallint[]
-- @param moved bigint[]
INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                            available_at, fired_at, partition)
SELECT tick.due, tick.job, timer.tenant, tick.route, tick.version, tick.epoch, tick.next_due,
       CASE WHEN tick.places IS NOT NULL THEN 0 END, tick.places, tick.max_attempts,
       tick.available_at, carillon.now_ms(), timer.partition
FROM unnest(:jobs, :job_epochs, :dues, :available_ats, :next_dues, :versions, :routes, :places, :max_attempts)
  AS tick (job, epoch, due, available_at, next_due, version, route, places, max_attempts)
JOIN carillon.timers timer ON timer.job = tick.job
WHERE tick.job = ANY (:moved)
RETURNING job
`,
    },
  ],
}
