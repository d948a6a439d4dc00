import type { ServiceState, ServiceStatus } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { duration } from '../output/time.js'
import { visible } from '../output/visible.js'
import { paintStatus } from './status.js'

const words: Readonly<Record<ServiceState, readonly [paint: string, text: string]>> = {
  ok: ['ok', '✓ ok: every tick is fired in time, as far as anybody can see'],
  degraded: ['warn', '! degraded'],
  down: ['fail', '✗ down'],
}

/** What is wrong comes first, each with the page that helps. */
export function healthText(status: ServiceStatus, look: Look): string {
  const [paint, text] = words[status.state] ?? ['warn', visible(status.state)]
  const reasons = status.reasons.map(({ code, state, detail, runbook }) => {
    const help = runbook === null ? '' : `\n    ${look.colors.dim(visible(runbook))}`
    return `  ${paintStatus(visible(code), words[state][0], look.colors)}: ${visible(detail)}${help}\n`
  })
  const { alive, node } = status
  const facts = renderFacts(
    [
      ['Alive', `${alive.api} api, ${alive.scheduler} scheduler, ${alive.worker} worker`],
      ['Ticks not fired', waitOf(status.lag_ms)],
      ['Runs not started', waitOf(status.oldest_ready_ms)],
      [
        'Without owner',
        status.partitions_unowned === null ? 'not known' : `${status.partitions_unowned} partitions`,
      ],
      [
        'Answered by',
        `${visible(node.node)} (${visible(node.roles.join(','))}), version ${visible(node.version)}`,
      ],
    ],
    look,
  )
  return `${paintStatus(text, paint, look.colors)}\n${reasons.join('')}\n${facts}`
}

function waitOf(ms: number | null): string {
  if (ms === null) return 'not known'
  return ms === 0 ? 'none waits' : `the oldest waits for ${duration(ms)}`
}
