import type { Setting } from './setting.js'

/** Series of single jobs, and traces. */
export const watchSettings = {
  monitorTag: {
    env: 'CARILLON_MONITOR_TAG',
    type: 'string',
    group: 'Metrics and traces',
    default: 'monitor',
    doc: 'Jobs with this tag have series of their own in `/metrics`.',
  },
  maxMonitoredJobs: {
    env: 'CARILLON_MAX_MONITORED_JOBS',
    type: 'int',
    unit: 'jobs',
    group: 'Metrics and traces',
    default: 100,
    min: 0,
    max: 10_000,
    doc: 'Most jobs that have series of their own in one process; 0: none.',
  },
  otlpEndpoint: {
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    type: 'url',
    group: 'Metrics and traces',
    default: undefined,
    absent: 'none: no traces',
    example: 'http://collector.example.com:4318',
    doc: 'The OpenTelemetry collector that spans are sent to, over OTLP/HTTP, at `/v1/traces` below this address.',
  },
  otlpHeaders: {
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    type: 'string',
    secret: true,
    group: 'Metrics and traces',
    default: undefined,
    absent: 'none',
    example: 'authorization=Bearer%20the-token-you-were-given',
    doc: 'Headers that go with the spans: `name=value`, separated by commas, values percent-encoded.',
  },
  otlpServiceName: {
    env: 'OTEL_SERVICE_NAME',
    type: 'string',
    group: 'Metrics and traces',
    default: 'carillon',
    doc: 'What this process is called in traces.',
  },
  traceOneIn: {
    env: 'CARILLON_TRACE_ONE_IN',
    type: 'int',
    unit: 'runs',
    group: 'Metrics and traces',
    default: 1,
    min: 1,
    max: 1_000_000,
    doc: 'One in so many runs is traced: the same ones in every process, with all their attempts.',
  },
} as const satisfies Record<string, Setting>
