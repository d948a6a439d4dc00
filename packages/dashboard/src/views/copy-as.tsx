import type { RunDetail } from '@carillon/contract'
import { useState } from 'react'
import { asCli, asCurl, asTypeScript, type CopyCall } from '../lib/copy-as.js'
import { useShared } from '../lib/hooks.js'
import { Button, Code, Panel } from '../ui/pieces.js'

const languages = ['curl', 'CLI', 'TypeScript'] as const

/** The same as a button of this page, for a terminal or a program. */
export function CopyAs({ run }: { run: RunDetail }) {
  const { hasKey, toast } = useShared()
  const [language, setLanguage] = useState<(typeof languages)[number]>('curl')
  const calls = callsOf(run)
  const [chosen, setChosen] = useState(0)
  const call = calls[chosen] ?? calls[0]
  if (call === undefined) return null
  const text =
    language === 'curl'
      ? asCurl(call.call, location.origin, hasKey)
      : language === 'CLI'
        ? asCli(call.call)
        : asTypeScript(call.call, location.origin, hasKey)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      toast('Copied')
    } catch {
      toast('The browser does not let the page copy: select the text', 'bad')
    }
  }
  return (
    <Panel
      title="Copy as"
      actions={
        <>
          <div className="segmented" role="group" aria-label="What it does">
            {calls.map(({ words }, index) => (
              <button
                key={words}
                type="button"
                aria-pressed={index === chosen}
                onClick={() => setChosen(index)}
              >
                {words}
              </button>
            ))}
          </div>
          <div className="segmented" role="group" aria-label="Language">
            {languages.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === language}
                onClick={() => setLanguage(one)}
              >
                {one}
              </button>
            ))}
          </div>
          <Button icon="copy" onClick={() => void copy()}>
            Copy
          </Button>
        </>
      }
    >
      <Code text={text} label="The call" />
    </Panel>
  )
}

function callsOf({ run_id: run, job_id: job, status }: RunDetail): { words: string; call: CopyCall }[] {
  const inFlight = status === 'running' || status === 'pending'
  return [
    {
      words: 'Read',
      call: {
        method: 'GET',
        path: `/api/v1/runs/${run}`,
        cli: `runs get ${run}`,
        typescript: `runs.get('${run}')`,
      },
    },
    {
      words: 'Run the job again',
      call: {
        method: 'POST',
        path: `/api/v1/jobs/${job}/trigger`,
        body: {},
        cli: `jobs trigger ${job}`,
        typescript: `jobs.trigger('${job}')`,
      },
    },
    ...(status === 'dead'
      ? [
          {
            words: 'Retry',
            call: {
              method: 'POST' as const,
              path: `/api/v1/runs/${run}/retry`,
              body: {},
              cli: `runs retry ${run}`,
              typescript: `runs.retry('${run}')`,
            },
          },
        ]
      : []),
    ...(inFlight
      ? [
          {
            words: 'Cancel',
            call: {
              method: 'POST' as const,
              path: `/api/v1/runs/${run}/cancel`,
              body: {},
              cli: `runs cancel ${run}`,
              typescript: `runs.cancel('${run}')`,
            },
          },
        ]
      : []),
  ]
}
