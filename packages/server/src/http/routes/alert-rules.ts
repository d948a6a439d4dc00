import { AlertRule, AlertRuleInput, AlertRuleList, AlertRulePatch } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AlertRulesPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const ruleParams = Type.Object({ rule_id: Type.String({ description: 'rule_…' }) })
interface RuleParams {
  rule_id: string
}

const listOperation = operation({
  operationId: 'listAlertRules',
  summary: 'List the rules, and the defaults that hold without one',
  tag: 'alerts',
  answers: { 200: { description: 'Defaults first; their rule_id is null', schema: refTo(AlertRuleList) } },
  errors: [...commonErrors],
})

const createOperation = operation({
  operationId: 'createAlertRule',
  summary: 'Make a rule in place of a default',
  description:
    'For one job, for the jobs with a tag, or for all: the narrowest holds. It says when an alert of the kind is raised, how much it ' +
    'matters and who is told; `enabled: false` switches it off.',
  tag: 'alerts',
  body: refTo(AlertRuleInput),
  answers: { 201: { description: 'The rule', schema: refTo(AlertRule) } },
  errors: ['job_not_found', 'alert_rule_taken', 'alert_limit_reached', ...bodyErrors, ...commonErrors],
})

const changeOperation = operation({
  operationId: 'changeAlertRule',
  summary: 'Change a rule',
  tag: 'alerts',
  params: ruleParams,
  body: refTo(AlertRulePatch),
  answers: { 200: { description: 'The rule as it is now', schema: refTo(AlertRule) } },
  errors: ['alert_rule_not_found', ...bodyErrors, ...commonErrors],
})

const deleteOperation = operation({
  operationId: 'deleteAlertRule',
  summary: 'Delete a rule: the default holds again',
  tag: 'alerts',
  params: ruleParams,
  answers: { 204: { description: 'It is gone' } },
  errors: ['alert_rule_not_found', ...commonErrors],
})

export function addAlertRuleRoutes(app: FastifyInstance, rules: AlertRulesPort): void {
  app.get('/alert-rules', {
    schema: listOperation,
    handler: async (request) => rules.list(await resolveTenant(request)),
  })

  app.post<{ Body: AlertRuleInput }>('/alert-rules', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) =>
      reply.code(201).send(await rules.create(await resolveTenant(request), request.body)),
  })

  app.patch<{ Params: RuleParams; Body: AlertRulePatch }>('/alert-rules/:rule_id', {
    schema: changeOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request) =>
      rules.change(await resolveTenant(request), request.params.rule_id, request.body),
  })

  app.delete<{ Params: RuleParams }>('/alert-rules/:rule_id', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await rules.delete(await resolveTenant(request), request.params.rule_id)
      return reply.code(204).send()
    },
  })
}
