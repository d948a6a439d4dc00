import type {
  Alert,
  AlertChannel,
  AlertChannelInput,
  AlertChannelList,
  AlertChannelPatch,
  AlertChannelTest,
  AlertList,
  AlertQuery,
  AlertRule,
  AlertRuleInput,
  AlertRuleList,
  AlertRulePatch,
  AlertSilence,
  AlertSilenceInput,
  AlertSilenceList,
} from '@carillon/contract'
import { type CallApi, pages, pathTo } from './paths.js'

export interface AlertCalls {
  /** Events that people are told of. */
  readonly alerts: {
    /** One page, the latest first; pass its `next_cursor` for the next one. */
    list(query?: AlertQuery & { cursor?: string }): Promise<AlertList>
    iterate(query?: AlertQuery): AsyncGenerator<Alert, void, undefined>
    /** With whom was told of it. */
    get(alertId: string): Promise<Alert>
    /** Says that it is over. */
    resolve(alertId: string): Promise<Alert>
  }
  /** What is not told for a time. */
  readonly alertSilences: {
    list(): Promise<AlertSilenceList>
    create(silence: AlertSilenceInput): Promise<AlertSilence>
    delete(silenceId: string): Promise<void>
  }
  /** What is raised, how much it matters, who is told. */
  readonly alertRules: {
    /** The defaults that hold without a rule are among them, with `rule_id` null. */
    list(): Promise<AlertRuleList>
    create(rule: AlertRuleInput): Promise<AlertRule>
    edit(ruleId: string, patch: AlertRulePatch): Promise<AlertRule>
    delete(ruleId: string): Promise<void>
  }
  /** Where alerts are told. */
  readonly alertChannels: {
    list(): Promise<AlertChannelList>
    create(channel: AlertChannelInput): Promise<AlertChannel>
    edit(channelId: string, patch: AlertChannelPatch): Promise<AlertChannel>
    delete(channelId: string): Promise<void>
    /** Sends something at once, and answers whether it was taken. */
    test(channelId: string): Promise<AlertChannelTest>
  }
}

const api = '/api/v1'

export function alertCalls(call: CallApi): AlertCalls {
  const list = (query: AlertQuery & { cursor?: string } = {}) =>
    call<AlertList>({ method: 'GET', path: `${api}/alerts`, query: { ...query } })
  const alertPath = (id: string) => pathTo(`${api}/alerts`, id, 'the id of an alert')
  const silencePath = (id: string) => pathTo(`${api}/alert-silences`, id, 'the id of a silence')
  const rulePath = (id: string) => pathTo(`${api}/alert-rules`, id, 'the id of a rule')
  const channelPath = (id: string) => pathTo(`${api}/alert-channels`, id, 'the id of a channel')
  return {
    alerts: {
      list,
      iterate: (query = {}) => pages(list, query),
      get: async (id) => await call<Alert>({ method: 'GET', path: alertPath(id) }),
      resolve: async (id) =>
        await call<Alert>({ method: 'POST', path: `${alertPath(id)}/resolve`, body: {} }),
    },
    alertSilences: {
      list: () => call<AlertSilenceList>({ method: 'GET', path: `${api}/alert-silences` }),
      create: (body) => call<AlertSilence>({ method: 'POST', path: `${api}/alert-silences`, body }),
      async delete(id) {
        await call({ method: 'DELETE', path: silencePath(id) })
      },
    },
    alertRules: {
      list: () => call<AlertRuleList>({ method: 'GET', path: `${api}/alert-rules` }),
      create: (body) => call<AlertRule>({ method: 'POST', path: `${api}/alert-rules`, body }),
      edit: async (id, body) => await call<AlertRule>({ method: 'PATCH', path: rulePath(id), body }),
      async delete(id) {
        await call({ method: 'DELETE', path: rulePath(id) })
      },
    },
    alertChannels: {
      list: () => call<AlertChannelList>({ method: 'GET', path: `${api}/alert-channels` }),
      create: (body) => call<AlertChannel>({ method: 'POST', path: `${api}/alert-channels`, body }),
      edit: async (id, body) => await call<AlertChannel>({ method: 'PATCH', path: channelPath(id), body }),
      async delete(id) {
        await call({ method: 'DELETE', path: channelPath(id) })
      },
      test: async (id) =>
        await call<AlertChannelTest>({ method: 'POST', path: `${channelPath(id)}/test`, body: {} }),
    },
  }
}
