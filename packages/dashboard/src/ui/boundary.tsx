import { Component, type ReactNode } from 'react'
import { ErrorNote } from './pieces.js'

/** A view that breaks does not take the shell with it: the way elsewhere stays open. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null }

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return <ErrorNote error={error} onRetry={() => this.setState({ error: null })} />
  }
}
