import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { incarnationName } from '../platform/ids.js'
import type { Coordination, Life } from './coordination.js'

export interface MembershipOptions {
  coordination: Coordination
  log: Logger
  roles: readonly string[]
  tasks: readonly string[]
  commands?: boolean
  codeVersion: string
  /** What this process says of itself with every heartbeat, for people who look. Asked often: must be cheap. */
  report?: () => Record<string, unknown>
}

/**
 * This process's place in the cluster. Each heartbeat gives a life sign and looks at the peers. A process that was
 * declared dead is told so by its next heartbeat: it drops all it holds and comes back under a new id, because a dead
 * incarnation never lives again.
 */
export class Membership {
  private life: Life | null = null
  private readonly withheld = new Set<string>()
  private readonly lostListeners: (() => Promise<void> | void)[] = []
  private readonly goneListeners: (() => void)[] = []

  constructor(private readonly options: MembershipOptions) {}

  get incarnation(): number {
    return this.life?.incarnation ?? 0
  }

  /** Called when this process was declared dead: everything it holds belongs to others now. */
  onLost(listener: () => Promise<void> | void): void {
    this.lostListeners.push(listener)
  }

  /** Called when a peer was found dead or left: its partitions and runs can be taken over at once. */
  onPeerGone(listener: () => void): void {
    this.goneListeners.push(listener)
  }

  async join(): Promise<void> {
    const { coordination, roles, tasks, commands = false, codeVersion, log } = this.options
    const introduction = { host: hostname(), pid: process.pid, roles, tasks, commands, codeVersion }
    this.life = await coordination.join(introduction)
    try {
      await this.heartbeat()
    } catch (error) {
      // The caller takes this process for not joined: neither its row nor its connection may stay behind.
      await this.leave().catch(() => undefined)
      throw error
    }
    log.info({ node: incarnationName(this.incarnation), roles }, 'joined the cluster')
  }

  /** One life sign and one look around. */
  async heartbeat(): Promise<void> {
    const { log, roles, report } = this.options
    const life = this.joined()
    const alive = await life.beat({
      roles: roles.filter((role) => !this.withheld.has(role)),
      report: report?.() ?? {},
    })
    if (!alive) {
      log.error(
        { node: incarnationName(life.incarnation) },
        'this process was declared dead: dropping all it holds and joining anew',
      )
      await this.rejoin(life)
    } else {
      await this.look()
    }
  }

  /** One look around without a life sign. */
  async look(): Promise<void> {
    if ((await this.joined().look()).length > 0) this.tellGone()
  }

  /** When to look again, sooner than a heartbeat later: a peer is about to be found gone. */
  nextLookInMs(): number | null {
    return this.life?.nextLookInMs() ?? null
  }

  /** Whether this process can do what a role asks for. One that cannot lives on, but nobody counts on it for that. */
  offer(role: string, able: boolean): void {
    if (able) this.withheld.delete(role)
    else this.withheld.add(role)
  }

  /** Live processes with a role, as this one sees them; includes itself. */
  live(role: string): number[] {
    const peers = this.life?.live() ?? []
    return peers.filter(({ roles }) => roles.includes(role)).map(({ incarnation }) => incarnation)
  }

  async leave(): Promise<void> {
    await this.life?.leave()
  }

  private async rejoin(dead: Life): Promise<void> {
    for (const listener of this.lostListeners) await listener()
    await dead.drop()
    await this.join()
    // Whoever went meanwhile was never seen by the new life.
    this.tellGone()
  }

  private tellGone(): void {
    for (const listener of this.goneListeners) listener()
  }

  private joined(): Life {
    if (this.life === null) throw new Error('A heartbeat was asked for before this process joined.')
    return this.life
  }
}
