import type { Setting } from './setting.js'

/** What is watched and told. Rules, silences and channels are no settings: they are made over the API. */
export const alertSettings = {
  alertEverySeconds: {
    env: 'CARILLON_ALERT_EVERY_SECONDS',
    type: 'seconds',
    group: 'Alerts',
    default: 5,
    min: 0.1,
    max: 60,
    doc: 'How often the fleet looks for what should raise an alert.',
  },
  alertResolveDelaySeconds: {
    env: 'CARILLON_ALERT_RESOLVE_DELAY_SECONDS',
    type: 'seconds',
    group: 'Alerts',
    default: 30,
    min: 0,
    max: 3_600,
    doc: 'How much later channels hear that an alert is over; what comes back before was never away.',
  },
  alertResendSeconds: {
    env: 'CARILLON_ALERT_RESEND_SECONDS',
    type: 'seconds',
    group: 'Alerts',
    default: 60,
    min: 1,
    max: 3_600,
    doc: 'How often an Alertmanager is told again of what goes on; it forgets it after four times as long.',
  },
  deadManUrl: {
    env: 'CARILLON_DEAD_MAN_URL',
    type: 'url',
    secret: true,
    group: 'Alerts',
    default: undefined,
    absent: 'none: no ping',
    example: 'https://monitor.example.com/ping/carillon',
    doc: 'A monitor outside, which is called as long as a scheduler is alive, and tells people when the calls stop.',
  },
  deadManSeconds: {
    env: 'CARILLON_DEAD_MAN_SECONDS',
    type: 'seconds',
    group: 'Alerts',
    default: 60,
    min: 1,
    max: 86_400,
    doc: 'How often it is called.',
  },
} as const satisfies Record<string, Setting>
