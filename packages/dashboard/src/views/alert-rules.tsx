import type { AlertRule, AlertRuleInput, AlertRulePatch, AlertSeverity } from '@carillon/contract'
import { useState } from 'react'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { type Problems, problemsOf } from '../lib/problems.js'
import { Link } from '../lib/router.js'
import { Columns } from '../ui/columns.js'
import { Confirm } from '../ui/confirm.js'
import { Ask } from '../ui/dialog.js'
import { CheckField, SelectField, TextField } from '../ui/field.js'
import { Button, ErrorNote, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { KindField } from './alert-silences.js'

type Asked = { what: 'add' } | { what: 'change' | 'delete'; rule: AlertRule } | null

/** What raises an alert, how much it matters, and who is told. The narrowest rule holds. */
export function Rules() {
  const { api, mayWrite } = useShared()
  const [asked, setAsked] = useState<Asked>(null)
  const rules = useQuery('alert rules', () => api.alertRules.list(), { every: 30_000 })
  const rows = rules.data?.data ?? []
  const close = () => setAsked(null)
  return (
    <Panel
      title="Rules"
      aside="the narrowest holds: of a job, of a tag, of all"
      flush
      actions={mayWrite && <Button onClick={() => setAsked({ what: 'add' })}>Add rule</Button>}
    >
      {rules.loading && <Skeleton rows={4} />}
      {rules.error !== null && <ErrorNote error={rules.error} onRetry={rules.reload} />}
      {rows.length > 0 && <RuleTable rows={rows} onAsk={setAsked} />}
      {(asked?.what === 'add' || asked?.what === 'change') && (
        <RuleDialog
          {...(asked.what === 'change' && { rule: asked.rule })}
          defaults={rows}
          onClose={close}
          onDone={rules.reload}
        />
      )}
      {asked?.what === 'delete' && (
        <Confirm
          title="Delete the rule"
          confirm="Delete"
          done="Deleted"
          work={() => api.alertRules.delete(asked.rule.rule_id ?? '')}
          onClose={close}
          onDone={rules.reload}
        >
          <p>
            <code>{asked.rule.kind}</code> {ofWhat(asked.rule)}: a wider rule holds from then on, or the
            default of its kind.
          </p>
        </Confirm>
      )}
    </Panel>
  )
}

function ofWhat({ job_id: job, job_name: name, tag }: AlertRule): string {
  return job !== null ? `of ${name ?? job}` : tag !== null ? `of jobs with the tag ${tag}` : 'of all'
}

function RuleTable({ rows, onAsk }: { rows: readonly AlertRule[]; onAsk: (asked: Asked) => void }) {
  const { mayWrite } = useShared()
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">Alert rules</caption>
        <Columns of={['Kind', 'Of', 'Severity', 'State', 'Parameters']} actions={mayWrite} />
        <tbody>
          {rows.map((rule) => (
            <tr key={rule.rule_id ?? rule.kind} className={rule.enabled ? '' : 'faded'}>
              <td className="wide-cell">
                {rule.kind.replaceAll('_', ' ')} <span className="aside">{rule.summary}</span>
              </td>
              <td>
                {rule.job_id !== null ? (
                  <Link href={to.job(rule.job_id)}>{rule.job_name ?? rule.job_id}</Link>
                ) : (
                  (rule.tag ?? 'all')
                )}
              </td>
              <td>
                <Status state={rule.severity} />
              </td>
              <td>{rule.enabled ? (rule.rule_id === null ? 'default' : 'on') : 'off'}</td>
              <td>{paramWords(rule.params)}</td>
              {mayWrite && (
                <td className="row-actions">
                  <Button onClick={() => onAsk({ what: 'change', rule })}>Change</Button>
                  {rule.rule_id !== null && (
                    <Button look="danger" onClick={() => onAsk({ what: 'delete', rule })}>
                      Delete
                    </Button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function paramWords(params: AlertRule['params']): string {
  return Object.entries(params)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value ?? 'not set'}`)
    .join(', ')
}

interface RuleDialogProps {
  /** Changed; a default (without an id) becomes a rule for all. */
  rule?: AlertRule
  defaults: readonly AlertRule[]
  onClose: () => void
  onDone: () => void
}

function RuleDialog({ rule, defaults, onClose, onDone }: RuleDialogProps) {
  const { api } = useShared()
  const action = useAction()
  const [kind, setKind] = useState(rule?.kind ?? '')
  const [job, setJob] = useState('')
  const [tag, setTag] = useState('')
  const [severity, setSeverity] = useState<AlertSeverity | ''>(rule?.severity ?? '')
  const [enabled, setEnabled] = useState(rule?.enabled ?? true)
  const [channels, setChannels] = useState<readonly string[] | null>(rule?.channels ?? null)
  const [texts, setTexts] = useState<Record<string, string>>({})
  const known = rule?.params ?? defaults.find((one) => one.kind === kind)?.params ?? {}
  const textOf = (name: string) => texts[name] ?? String(rule?.params[name] ?? '')
  const number = (name: string) => (textOf(name).trim() === '' ? null : Number(textOf(name)))
  const names = Object.keys(known)
  const wrong = names.filter((name) => Number.isNaN(number(name)))
  const submit = async () => {
    const patch: AlertRulePatch = {
      params: Object.fromEntries(names.map((name) => [name, number(name)])),
      severity: severity === '' ? null : severity,
      enabled,
      channels: channels === null ? null : [...channels],
    }
    const input = {
      kind: kind as AlertRuleInput['kind'],
      ...(job.trim() !== '' && { job_id: job.trim() }),
      ...(tag.trim() !== '' && { tag: tag.trim() }),
    }
    const id = rule?.rule_id ?? null
    const work = () =>
      id === null ? api.alertRules.create({ ...input, ...patch }) : api.alertRules.edit(id, patch)
    if (!(await action.run(work, 'The rule holds from the next look on'))) return
    onClose()
    onDone()
  }
  const problems = problemsOf(action.error)
  return (
    <Ask
      title={rule === undefined ? 'Add rule' : `Rule: ${rule.kind.replaceAll('_', ' ')}`}
      action={action}
      confirm={rule === undefined ? 'Add' : 'Save'}
      disabled={kind === '' || wrong.length > 0}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      {rule === undefined ? (
        <OfWhat kind={kind} job={job} tag={tag} on={{ setKind, setJob, setTag }} problems={problems} />
      ) : (
        <p className="quiet">
          {rule.summary} — {ofWhat(rule)}
        </p>
      )}
      <SelectField
        label="Severity"
        value={severity}
        onChange={(value) => setSeverity(value as AlertSeverity | '')}
        options={[['', 'as its kind has it'], 'critical', 'warning', 'info']}
        problem={problems['severity']}
      />
      {names.map((name) => (
        <TextField
          key={name}
          label={name.replaceAll('_', ' ')}
          value={textOf(name)}
          onChange={(value) => setTexts({ ...texts, [name]: value })}
          hint="Empty: the default"
          problem={wrong.includes(name) ? 'A number.' : problems['params']}
        />
      ))}
      <ChannelChoice chosen={channels} onChange={setChannels} />
      <CheckField label="Raise alerts by this rule" value={enabled} onChange={setEnabled} />
    </Ask>
  )
}

interface OfWhatProps {
  kind: string
  job: string
  tag: string
  on: Record<'setKind' | 'setJob' | 'setTag', (text: string) => void>
  problems: Problems
}

/** What a new rule is about. */
function OfWhat({ kind, job, tag, on, problems }: OfWhatProps) {
  return (
    <>
      <KindField value={kind} onChange={on.setKind} problem={problems['kind']} />
      <div className="pair">
        <TextField
          label="Only of the job"
          mono
          value={job}
          onChange={on.setJob}
          placeholder="job_…"
          problem={problems['job_id']}
        />
        <TextField
          label="Only of jobs with the tag"
          value={tag}
          onChange={on.setTag}
          problem={problems['tag']}
        />
      </div>
    </>
  )
}

/** Null: all channels are told. */
function ChannelChoice({
  chosen,
  onChange,
}: {
  chosen: readonly string[] | null
  onChange: (chosen: readonly string[] | null) => void
}) {
  const { api } = useShared()
  const channels = useQuery('alert channels', () => api.alertChannels.list())
  const rows = channels.data?.data ?? []
  if (rows.length === 0) return null
  return (
    <fieldset className="choices">
      <legend>Who is told</legend>
      <CheckField
        label="Every channel"
        value={chosen === null}
        onChange={(every) => onChange(every ? null : [])}
      />
      {chosen !== null &&
        rows.map(({ channel_id: id, name }) => (
          <CheckField
            key={id}
            label={name}
            value={chosen.includes(id)}
            onChange={(on) => onChange(on ? [...chosen, id] : chosen.filter((one) => one !== id))}
          />
        ))}
    </fieldset>
  )
}
