import {
  type Alert,
  type AlertChannel,
  type AlertRule,
  type AlertSilence,
  CarillonError,
} from '@carillon/contract'
import type { AlertChannelsPort, AlertRulesPort, AlertSilencesPort, AlertsPort } from '../../src/http/api.js'

const missing = (code: ConstructorParameters<typeof CarillonError>[0]) =>
  Promise.reject(new CarillonError(code))
const none = <Item>() => Promise.resolve({ data: [] as Item[], next_cursor: null })

/** Nothing was ever raised: for tests of the HTTP room. */
export class MemoryAlerts implements AlertsPort {
  list = () => none<Alert>()
  get = () => missing('alert_not_found')
  resolve = () => missing('alert_not_found')
}

export class MemorySilences implements AlertSilencesPort {
  list = () => none<AlertSilence>()
  create = () => missing('alert_limit_reached')
  delete = () => missing('alert_silence_not_found')
}

export class MemoryRules implements AlertRulesPort {
  list = () => none<AlertRule>()
  create = () => missing('alert_limit_reached')
  change = () => missing('alert_rule_not_found')
  delete = () => missing('alert_rule_not_found')
}

export class MemoryChannels implements AlertChannelsPort {
  list = () => none<AlertChannel>()
  create = () => missing('alert_limit_reached')
  change = () => missing('alert_channel_not_found')
  delete = () => missing('alert_channel_not_found')
  test = () => missing('alert_channel_not_found')
}
