import type {
  Operation,
  OperationAction,
  OperationFilter,
  OperationInput,
  OperationPreview,
} from '@carillon/contract'
import { useState } from 'react'
import { count, plural } from '../lib/format.js'
import { type Query, useAction, useQuery, useShared } from '../lib/hooks.js'
import { navigate } from '../lib/router.js'
import { Ask } from '../ui/dialog.js'
import { SelectField, TextField } from '../ui/field.js'
import { ErrorNote, Note, Skeleton } from '../ui/pieces.js'

const actions: [OperationAction, string][] = [
  ['pause', 'Pause'],
  ['resume', 'Resume'],
  ['trigger', 'Trigger now'],
  ['tag', 'Add tags'],
  ['untag', 'Remove tags'],
  ['cancel', 'Cancel for good'],
  ['delete', 'Delete'],
]

/** One action on everything that the filter matches, not on a page of it. Counted before anything is done. */
export function BulkDialog({ filter, onClose }: { filter: OperationFilter; onClose: () => void }) {
  const { api } = useShared()
  const action = useAction()
  const [what, setWhat] = useState<OperationAction>('pause')
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState('')
  const [tags, setTags] = useState('')
  const input: OperationInput = {
    action: what,
    ...(Object.keys(filter).length === 0 ? { all: true } : { filter }),
    ...(reason !== '' && (what === 'pause' || what === 'cancel') && { reason }),
    ...(until !== '' && what === 'pause' && { until }),
    ...((what === 'tag' || what === 'untag') && { tags: tags.split(/[\s,]+/).filter((tag) => tag !== '') }),
  }
  const needsTags = (what === 'tag' || what === 'untag') && (input.tags?.length ?? 0) === 0
  const preview = useQuery(needsTags ? null : `count ${JSON.stringify([what, filter, input.tags])}`, () =>
    api.operations.count(input),
  )
  const matched = preview.data?.matched ?? 0
  const start = () =>
    action.run(async () => {
      const { operation_id: id }: Operation = await api.operations.start(input)
      onClose()
      navigate(`/operations?id=${id}`)
    }, 'Begun')
  return (
    <Ask
      title="Change many jobs"
      action={action}
      confirm={`${actions.find(([name]) => name === what)?.[1] ?? what}: ${plural(matched, 'job')}`}
      danger={what === 'delete' || what === 'cancel'}
      disabled={matched === 0 || needsTags}
      onSubmit={() => void start()}
      onClose={onClose}
    >
      <p className="quiet">{filterWords(filter)}</p>
      <SelectField
        label="Action"
        value={what}
        onChange={(value) => setWhat(value as OperationAction)}
        options={actions}
      />
      {(what === 'pause' || what === 'cancel') && (
        <TextField
          label="Reason"
          value={reason}
          onChange={setReason}
          hint="For people who look at the jobs"
        />
      )}
      {what === 'pause' && (
        <TextField
          label="Until"
          value={until}
          onChange={setUntil}
          placeholder="2026-12-01T08:00"
          hint="When they resume by themselves; empty: when somebody resumes them"
        />
      )}
      {(what === 'tag' || what === 'untag') && (
        <TextField label="Tags" value={tags} onChange={setTags} hint="Separated by spaces" />
      )}
      <Matching preview={preview} warn={what === 'delete' || what === 'cancel'} />
    </Ask>
  )
}

/** What it would be about, counted by the server before anything is done. */
function Matching({ preview, warn }: { preview: Query<OperationPreview>; warn: boolean }) {
  const matched = preview.data?.matched ?? 0
  return (
    <>
      {preview.loading && <Skeleton rows={1} />}
      {preview.error !== null && <ErrorNote error={preview.error} />}
      {preview.data !== undefined && (
        <Note kind={warn ? 'warn' : 'info'}>
          <strong>{count(matched)}</strong> {matched === 1 ? 'job matches' : 'jobs match'} now
          {matched > 0 && (
            <>
              :{' '}
              {preview.data.sample
                .slice(0, 5)
                .map(({ name }) => name)
                .join(', ')}
              {matched > 5 && ' …'}
            </>
          )}
        </Note>
      )}
    </>
  )
}

export function filterWords(filter: OperationFilter): string {
  if (filter.job_ids !== undefined) return plural(filter.job_ids.length, 'selected job')
  const parts = Object.entries(filter).map(([name, value]) => `${name} ${[value].flat().join(', ')}`)
  return parts.length === 0 ? 'Every job of this tenant' : `All jobs with ${parts.join(' · ')}`
}
