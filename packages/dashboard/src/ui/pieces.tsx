import { ApiError, ConnectionError } from '@carillon/sdk/browser'
import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from '../lib/router.js'
import { Icon, type IconName } from './icon.js'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  icon?: IconName
  look?: 'plain' | 'main' | 'danger' | 'bare'
}

export function Button({ icon, look = 'plain', children, className = '', ...rest }: ButtonProps) {
  return (
    <button type="button" className={`button ${look} ${className}`} {...rest}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

export function LinkButton({
  href,
  icon,
  look = 'plain',
  children,
}: {
  href: string
  icon?: IconName
  look?: 'plain' | 'main'
  children: ReactNode
}) {
  return (
    <Link href={href} className={`button ${look}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  )
}

/** What went wrong, and what to do about it, in the server's own words. */
export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const api = error instanceof ApiError ? error : null
  const away = error instanceof ConnectionError
  const hint = api?.hint ?? (away ? 'What is shown may be old. It is asked for again by itself.' : '')
  return (
    <div className="note bad" role="alert">
      <Icon name="warn" size={16} />
      <div>
        <strong>{away ? 'The server does not answer.' : (api?.detail ?? error.message)}</strong>
        {hint !== '' && <p>{hint}</p>}
        {api !== null && api.errors.length > 0 && (
          <ul>
            {api.errors.map(({ pointer, message, hint: what }) => (
              <li key={pointer + message}>
                <code>{pointer.replace(/^\//, '') || 'body'}</code> {message} {what}
              </li>
            ))}
          </ul>
        )}
        {api?.requestId !== undefined && (
          <p className="aside">
            {api.code} · request {api.requestId}
          </p>
        )}
      </div>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

export function Note({ kind, children }: { kind: 'warn' | 'info' | 'bad' | 'good'; children: ReactNode }) {
  const icons: Record<string, IconName> = { warn: 'warn', info: 'dot', bad: 'cross', good: 'check' }
  return (
    <div className={`note ${kind}`}>
      <Icon name={icons[kind] ?? 'dot'} size={16} />
      <div>{children}</div>
    </div>
  )
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} size={26} />
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}

/** Rows where rows will be: the page does not jump when they come. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div className="skeleton" role="status">
      <span className="unseen">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="bone" />
      ))}
    </div>
  )
}

export function Panel({
  title,
  aside,
  actions,
  children,
  flush = false,
}: {
  title: string
  aside?: ReactNode
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
}) {
  return (
    <section className={`panel${flush ? ' flush' : ''}`}>
      <header className="panel-head">
        <h2>{title}</h2>
        {aside !== undefined && <span className="aside">{aside}</span>}
        <span className="spring" />
        {actions}
      </header>
      {children}
    </section>
  )
}

export function PageHead({
  title,
  children,
  below,
}: {
  title: ReactNode
  children?: ReactNode
  below?: ReactNode
}) {
  return (
    <header className="page-head">
      <div className="page-title">
        <h1>{title}</h1>
        {below}
      </div>
      <div className="page-actions">{children}</div>
    </header>
  )
}

/** Name and value, for what is read one by one. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode] | null | false)[] }) {
  return (
    <dl className="facts">
      {facts.map((fact) =>
        fact === null || fact === false ? null : (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <>
      {tags.map((tag) => (
        <Link key={tag} className="tag" href={`/jobs?tag=${encodeURIComponent(tag)}`}>
          {tag}
        </Link>
      ))}
    </>
  )
}

/** Text of strangers that may be long: scrolls by keyboard, too. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <pre className="code" tabIndex={0} role="region" aria-label={label}>
      <code>{text}</code>
    </pre>
  )
}

export function Progress({ done, total, label }: { done: number; total: number; label: string }) {
  return (
    <progress
      className="progress"
      max={Math.max(total, 1)}
      value={Math.min(done, Math.max(total, 1))}
      aria-label={label}
    />
  )
}
