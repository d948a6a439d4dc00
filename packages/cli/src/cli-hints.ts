/** Routes that hints of the server name, and what to type instead. The longer route comes first. */
const commandOfRoute: readonly (readonly [route: string, command: string])[] = [
  ['GET /api/v1/jobs/{job_id}/versions', 'carillon jobs versions JOB'],
  ['GET /api/v1/jobs/{job_id}/runs', 'carillon runs list JOB'],
  ['GET /api/v1/jobs/{job_id}/ticks', 'carillon jobs ticks list JOB'],
  ['GET /api/v1/jobs/{job_id}/why', 'carillon why JOB --at TICK'],
  ['PUT /api/v1/jobs/by-name/{name}', 'carillon jobs put NAME'],
  ['GET /api/v1/jobs', 'carillon jobs list'],
  ['POST /api/v1/runs/{run_id}/cancel', 'carillon runs cancel RUN'],
  ['GET /api/v1/runs/{run_id}', 'carillon runs show RUN'],
  ['GET /api/v1/calendars', 'carillon calendars list'],
  ['GET /api/v1/targets', 'carillon targets list'],
  ['GET /api/v1/dead-letters', 'carillon dead-letters list'],
  ['GET /api/v1/redrives', 'carillon dead-letters redrives'],
  ['GET /api/v1/operations', 'carillon operations list'],
  ['DELETE /api/v1/signing-secrets/{id}', 'carillon secrets retire ID'],
  ['GET /api/v1/signing-secrets', 'carillon secrets list'],
  ['GET /api/v1/backfills', 'carillon backfills list'],
  ['GET /api/v1/alerts', 'carillon alerts list'],
  ['GET /api/v1/alert-silences', 'carillon alerts silences'],
  ['PATCH /api/v1/alert-rules/{rule_id}', 'carillon alerts rules set KIND'],
  ['GET /api/v1/alert-rules', 'carillon alerts rules list'],
  ['PATCH /api/v1/alert-channels/{channel_id}', 'carillon alerts channels edit CHANNEL'],
  ['GET /api/v1/alert-channels', 'carillon alerts channels list'],
  ['GET /api/v1/keys', 'carillon keys list'],
  ['POST /api/v1/keys', 'carillon keys create'],
  ['PATCH /api/v1/tenants/{tenant_name}', 'carillon tenants edit NAME'],
  ['GET /api/v1/tenants', 'carillon tenants list'],
]

/** Where the server's hint speaks of headers or fields, and a person at a shell sets something else. */
const ownHints: Readonly<Record<string, string>> = {
  unauthenticated:
    'Put a key into CARILLON_API_KEY, or keep it beside the address of its server: carillon profiles add. An admin makes ' +
    'keys with `carillon keys create`; the first one is made on the machine of the database: carillon keys first NAME.',
  job_name_taken:
    'Choose another name, or change the job that has it: carillon jobs edit NAME, or carillon jobs put NAME.',
  job_version_conflict: 'Look at what it is now (carillon jobs get JOB), and try again with that version.',
}

/** What to do, in commands and not in routes. */
export function cliHint({ code, hint }: { code: string; hint: string }): string {
  const own = ownHints[code]
  if (own !== undefined) return own
  return commandOfRoute.reduce((text, [route, command]) => text.replaceAll(route, command), hint)
}
