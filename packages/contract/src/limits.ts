/** Bounds of what the API takes. One place, so that schemas, docs and the database agree. */
export const limits = {
  name: 200,
  schedule: 1_000,
  url: 2_048,
  headerValue: 4_096,
  headers: 50,
  template: 200,
  idempotencyKey: 255,
  retries: 100,
  missed: 1_000,
  graceSeconds: 366 * 86_400,
  timeoutSeconds: 86_400,
  jsonDepth: 64,
  page: 200,
  runsPage: 1_000,
} as const
