import type {
  Alert,
  AlertChannel,
  AlertChannelInput,
  AlertChannelList,
  AlertChannelPatch,
  AlertChannelTest,
  AlertList,
  AlertRule,
  AlertRuleInput,
  AlertRuleList,
  AlertRulePatch,
  AlertSilence,
  AlertSilenceInput,
  AlertSilenceList,
  AlertState,
} from '@carillon/contract'
import type { PageQuery } from './page.js'

/** Events that people are told of. */
export interface AlertsPort {
  list(
    tenant: number,
    query: PageQuery & { state?: AlertState; kind?: string; job_id?: string },
  ): Promise<AlertList>
  get(tenant: number, alertId: string): Promise<Alert>
  resolve(tenant: number, alertId: string): Promise<Alert>
}

export interface AlertSilencesPort {
  list(tenant: number): Promise<AlertSilenceList>
  create(tenant: number, input: AlertSilenceInput): Promise<AlertSilence>
  delete(tenant: number, silenceId: string): Promise<void>
}

export interface AlertRulesPort {
  list(tenant: number): Promise<AlertRuleList>
  create(tenant: number, input: AlertRuleInput): Promise<AlertRule>
  change(tenant: number, ruleId: string, patch: AlertRulePatch): Promise<AlertRule>
  delete(tenant: number, ruleId: string): Promise<void>
}

export interface AlertChannelsPort {
  list(tenant: number): Promise<AlertChannelList>
  create(tenant: number, input: AlertChannelInput): Promise<AlertChannel>
  change(tenant: number, channelId: string, patch: AlertChannelPatch): Promise<AlertChannel>
  delete(tenant: number, channelId: string): Promise<void>
  test(tenant: number, channelId: string): Promise<AlertChannelTest>
}
