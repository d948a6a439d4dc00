import type { DeadLetterGroup, RedriveFilter } from '@carillon/contract'
import { useState } from 'react'
import { duration, plural } from '../lib/format.js'
import { useAction, useShared } from '../lib/hooks.js'
import { Ask } from '../ui/dialog.js'
import { SelectField, TextField } from '../ui/field.js'
import { Note } from '../ui/pieces.js'

/** Start slow: a canary goes first, and the rest follows at a pace only if it succeeds. */
export function RedriveDialog({
  group,
  onClose,
  onDone,
}: {
  group: DeadLetterGroup
  onClose: () => void
  onDone: () => void
}) {
  const { api } = useShared()
  const action = useAction()
  const [canary, setCanary] = useState(group.count > 1 ? '1' : '0')
  const [pace, setPace] = useState('10')
  const [version, setVersion] = useState<'recorded' | 'current'>('recorded')
  const perSecond = Number(pace)
  const first = Number(canary)
  const wrong = !(perSecond > 0) || !Number.isInteger(first) || first < 0
  const submit = async () => {
    const filter: RedriveFilter = {
      fingerprint: group.fingerprint,
      per_second: perSecond,
      canary: first,
      version,
    }
    if (!(await action.run(() => api.deadLetters.redriveAll(filter), 'The re-drive has begun'))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title="Re-drive dead letters"
      action={action}
      confirm={`Re-drive ${plural(group.count, 'run')}`}
      disabled={wrong}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <pre className="error-text">{group.pattern}</pre>
      <div className="pair">
        <TextField
          label="Canary"
          value={canary}
          onChange={setCanary}
          problem={Number.isInteger(first) && first >= 0 ? null : 'A whole number.'}
          hint="So many go first; the rest only if all succeed"
        />
        <TextField
          label="Runs a second"
          value={pace}
          onChange={setPace}
          problem={perSecond > 0 ? null : 'More than 0.'}
          hint="At most"
        />
      </div>
      <SelectField
        label="Version"
        value={version}
        onChange={(value) => setVersion(value as 'recorded' | 'current')}
        options={[
          ['recorded', 'The one that failed'],
          ['current', 'The current one, after the job itself was corrected'],
        ]}
      />
      {!wrong && (
        <Note kind="info">
          {first > 0 ? `${plural(first, 'run goes', 'runs go')} first. ` : ''}At this pace the rest takes
          about {duration((Math.max(0, group.count - first) / perSecond) * 1_000)}.
        </Note>
      )}
    </Ask>
  )
}
