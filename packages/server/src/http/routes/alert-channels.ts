import {
  AlertChannel,
  AlertChannelInput,
  AlertChannelList,
  AlertChannelPatch,
  AlertChannelTest,
} from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AlertChannelsPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const channelParams = Type.Object({ channel_id: Type.String({ description: 'chn_…' }) })
interface ChannelParams {
  channel_id: string
}

const listOperation = operation({
  operationId: 'listAlertChannels',
  summary: 'List the channels, without their secrets',
  tag: 'alerts',
  answers: { 200: { description: 'By name', schema: refTo(AlertChannelList) } },
  errors: [...commonErrors],
})

const createOperation = operation({
  operationId: 'createAlertChannel',
  summary: 'Make a channel: where alerts are told',
  description:
    'An Alertmanager, a webhook that is signed as those of jobs are, anything that takes what Slack takes, or mail. Addresses go through ' +
    'the same guard as HTTP targets. URLs, headers and passwords are never shown again.',
  tag: 'alerts',
  body: refTo(AlertChannelInput),
  answers: { 201: { description: 'The channel', schema: refTo(AlertChannel) } },
  errors: ['alert_channel_name_taken', 'alert_limit_reached', ...bodyErrors, ...commonErrors],
})

const changeOperation = operation({
  operationId: 'changeAlertChannel',
  summary: 'Change a channel',
  tag: 'alerts',
  params: channelParams,
  body: refTo(AlertChannelPatch),
  answers: { 200: { description: 'The channel as it is now', schema: refTo(AlertChannel) } },
  errors: ['alert_channel_not_found', 'alert_channel_name_taken', ...bodyErrors, ...commonErrors],
})

const deleteOperation = operation({
  operationId: 'deleteAlertChannel',
  summary: 'Delete a channel, and what it was still to be told',
  tag: 'alerts',
  params: channelParams,
  answers: { 204: { description: 'It is gone' } },
  errors: ['alert_channel_not_found', ...commonErrors],
})

const testOperation = operation({
  operationId: 'testAlertChannel',
  summary: 'Send a test to a channel, and say what came of it',
  tag: 'alerts',
  params: channelParams,
  answers: { 200: { description: 'Whether it was taken', schema: refTo(AlertChannelTest) } },
  errors: ['alert_channel_not_found', ...commonErrors],
})

export function addAlertChannelRoutes(app: FastifyInstance, channels: AlertChannelsPort): void {
  app.get('/alert-channels', {
    schema: listOperation,
    handler: async (request) => channels.list(await resolveTenant(request)),
  })

  app.post<{ Body: AlertChannelInput }>('/alert-channels', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) =>
      reply.code(201).send(await channels.create(await resolveTenant(request), request.body)),
  })

  app.patch<{ Params: ChannelParams; Body: AlertChannelPatch }>('/alert-channels/:channel_id', {
    schema: changeOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request) =>
      channels.change(await resolveTenant(request), request.params.channel_id, request.body),
  })

  app.delete<{ Params: ChannelParams }>('/alert-channels/:channel_id', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await channels.delete(await resolveTenant(request), request.params.channel_id)
      return reply.code(204).send()
    },
  })

  app.post<{ Params: ChannelParams }>('/alert-channels/:channel_id/test', {
    schema: testOperation,
    handler: async (request) => channels.test(await resolveTenant(request), request.params.channel_id),
  })
}
