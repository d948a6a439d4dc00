import { useState } from 'react'
import { useQuery, useRested, useShared } from './lib/hooks.js'
import { to } from './lib/location.js'
import { navigate } from './lib/router.js'
import { chooseTheme } from './lib/theme.js'
import { Dialog } from './ui/dialog.js'
import { Icon, type IconName } from './ui/icon.js'
import { views } from './views.js'

interface Choice {
  key: string
  icon: IconName
  label: string
  aside: string
  go: () => void
}

/** Views, jobs by name, runs by id: one field for all of them. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const choices = useChoices(text.trim())
  const chosen = Math.min(at, choices.length - 1)
  const take = (choice: Choice | undefined) => {
    if (choice === undefined) return
    onClose()
    choice.go()
  }
  return (
    <Dialog title="Command palette" onClose={onClose}>
      <div className="palette">
        <input
          className="palette-field"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={choices[chosen] === undefined ? undefined : `palette-${chosen}`}
          aria-label="Go to a view, a job or a run"
          placeholder="Go to a view, a job or a run…"
          value={text}
          autoFocus
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, choices.length - 1))
            else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0))
            else if (event.key === 'Enter') take(choices[chosen])
            else return
            event.preventDefault()
          }}
        />
        <ul id="palette-list" role="listbox" aria-label="Where to go">
          {choices.map((choice, index) => (
            <li
              key={choice.key}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseMove={() => setAt(index)}
              onClick={() => take(choice)}
            >
              <Icon name={choice.icon} />
              <span className="palette-label">{choice.label}</span>
              <span className="aside">{choice.aside}</span>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

function useChoices(text: string): Choice[] {
  const { api, mayWrite, mayAdmin, seesFleet } = useShared()
  const rested = useRested(text)
  const jobs = useQuery(rested === '' ? null : `palette ${rested}`, () =>
    api.jobs.list({ search: rested, limit: 8 }),
  )
  const lower = text.toLowerCase()
  const choices: Choice[] = []
  if (/^run_[0-9a-z]{30}$/.test(lower))
    choices.push({ key: 'run', icon: 'runs', label: lower, aside: 'run', go: () => navigate(to.run(lower)) })
  for (const { name, title, icon, path, key, needs } of views) {
    if ((needs === 'admin' && !mayAdmin) || (needs === 'fleet' && !seesFleet)) continue
    if (!title.toLowerCase().includes(lower)) continue
    choices.push({ key: `view ${name}`, icon, label: title, aside: `g ${key}`, go: () => navigate(path) })
  }
  if (mayWrite && 'create job'.includes(lower))
    choices.push({
      key: 'new',
      icon: 'plus',
      label: 'Create job',
      aside: '',
      go: () => navigate('/jobs/new'),
    })
  for (const theme of ['dark', 'light'] as const) {
    const label = `Theme: ${theme}`
    if (lower !== '' && label.toLowerCase().includes(lower))
      choices.push({
        key: label,
        icon: theme === 'dark' ? 'moon' : 'sun',
        label,
        aside: '',
        go: () => chooseTheme(theme),
      })
  }
  for (const job of jobs.data?.data ?? [])
    choices.push({
      key: job.job_id,
      icon: 'jobs',
      label: job.name,
      aside: job.state,
      go: () => navigate(to.job(job.job_id)),
    })
  return choices
}
