import { type StatsHistory, statsPieces } from '@carillon/contract'
import type { StatsPort } from './api.js'

/** Which pieces of the history a reader was told: each once, as soon as all of it is counted. */
export class StatsPieces {
  private through: number
  private first = true

  constructor(
    private readonly stats: StatsPort,
    private readonly tenant: number,
    counted: number,
  ) {
    this.through = beginOfPiece(counted)
  }

  /** Null: nothing new. */
  async next(): Promise<StatsHistory | null> {
    let history = await this.stats.recent(this.tenant)
    const end = beginOfPiece(Date.parse(history.through))
    const from = this.through
    if (end <= from && !this.first) return null
    // Looks failed, or nobody counted for a while: no piece is left out for that, as far as pieces of this length are told.
    const minutes = Math.ceil((end - from) / 60_000) + 1
    if (minutes > 2) history = await this.stats.history(this.tenant, Math.min(minutes, statsPieces.minutes))
    this.through = Math.max(from, end)
    this.first = false
    const isNew = (at: number) => at >= from && at < this.through
    return {
      ...history,
      through: new Date(this.through).toISOString(),
      data: history.data.filter(({ at }) => isNew(Date.parse(at))),
    }
  }
}

function beginOfPiece(ms: number): number {
  const step = statsPieces.stepSeconds * 1_000
  return Math.floor(ms / step) * step
}
