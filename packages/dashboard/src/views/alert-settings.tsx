import { alertCalls } from '../lib/alerts.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Link } from '../lib/router.js'
import { Button, ErrorNote, Panel } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'

export function Silences() {
  const { mayWrite } = useShared()
  const action = useAction()
  const silences = useQuery('silences', () => alertCalls.silences(), { every: 10_000 })
  const rows = silences.data?.data ?? []
  if (rows.length === 0) return null
  const end = async (id: string) => {
    if (await action.run(() => alertCalls.endSilence(id), 'Ended')) silences.reload()
  }
  return (
    <Panel title="Silences">
      {action.error !== null && <ErrorNote error={action.error} />}
      <ul className="plain">
        {rows.map((one) => (
          <li key={one.silence_id} className="line">
            <code>{one.kind ?? 'every kind'}</code>
            {one.job_id != null && <Link href={to.job(one.job_id)}>{one.job_name ?? one.job_id}</Link>}
            {one.tag != null && <span className="tag">{one.tag}</span>}
            <span>{one.reason}</span>
            <span className="aside">
              until <Time at={one.until} withRelative />
            </span>
            <span className="spring" />
            {mayWrite && <Button onClick={() => void end(one.silence_id)}>End</Button>}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

export function Rules() {
  const rules = useQuery('alert rules', () => alertCalls.rules())
  const rows = rules.data?.data ?? []
  if (rows.length === 0) return null
  return (
    <Panel title="Rules" flush>
      <div className="frame">
        <table className="grid">
          <caption className="unseen">Alert rules</caption>
          <thead>
            <tr>
              <th scope="col">Kind</th>
              <th scope="col">Of</th>
              <th scope="col">Severity</th>
              <th scope="col">State</th>
              <th scope="col">Parameters</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((rule) => (
              <tr key={rule.rule_id ?? rule.kind}>
                <td>
                  {rule.kind.replaceAll('_', ' ')} <span className="aside">{rule.summary}</span>
                </td>
                <td>
                  {rule.job_id !== null ? (
                    <Link href={to.job(rule.job_id)}>{rule.job_id}</Link>
                  ) : (
                    (rule.tag ?? 'all jobs')
                  )}
                </td>
                <td>
                  <Status state={rule.severity} />
                </td>
                <td>{rule.enabled ? 'on' : 'off'}</td>
                <td>
                  <code>{JSON.stringify(rule.params)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

export function Channels() {
  const { mayAdmin } = useShared()
  const action = useAction()
  const channels = useQuery('alert channels', () => alertCalls.channels(), { every: 10_000 })
  const rows = channels.data?.data ?? []
  if (rows.length === 0) return null
  const test = async (id: string) => {
    if (await action.run(() => alertCalls.test(id), 'A test was sent')) channels.reload()
  }
  return (
    <Panel title="Channels">
      {action.error !== null && <ErrorNote error={action.error} />}
      <ul className="plain">
        {rows.map((one) => (
          <li key={one.channel_id} className="line">
            <strong>{one.name}</strong> {one.type} <span className="aside">from {one.min_severity} on</span>
            {one.last_delivery != null && (
              <>
                <Status
                  state={one.last_delivery.ok ? 'done' : 'failed'}
                  words={one.last_delivery.ok ? 'delivered' : 'failed'}
                />
                <span className="aside">
                  <Ago at={one.last_delivery.at} /> {one.last_delivery.error}
                </span>
              </>
            )}
            <span className="spring" />
            {mayAdmin && (
              <Button disabled={action.busy} onClick={() => void test(one.channel_id)}>
                Test
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
