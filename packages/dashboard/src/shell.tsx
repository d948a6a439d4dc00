import { Suspense, useEffect, useState } from 'react'
import { useShared } from './lib/hooks.js'
import { routeOf } from './lib/location.js'
import { Link, usePlace } from './lib/router.js'
import { Help } from './help.js'
import { Palette } from './palette.js'
import { useShortcuts } from './shortcuts.js'
import { TopBar } from './top-bar.js'
import { Icon } from './ui/icon.js'
import { Boundary } from './ui/boundary.js'
import { Empty, LinkButton, Skeleton } from './ui/pieces.js'
import { views } from './views.js'

export function Shell({ onLeave }: { onLeave: () => void }) {
  const { path } = usePlace()
  const [open, setOpen] = useState<'palette' | 'help' | null>(null)
  useShortcuts(setOpen)
  const { view: name } = routeOf(path)
  const view = views.find((one) => one.name === name)
  useEffect(() => {
    document.title = `${view?.title ?? 'Not found'} · Carillon`
  }, [view])
  // What had the focus went with the view before: the keyboard goes on where the new one begins.
  useEffect(() => {
    if (document.activeElement === document.body)
      document.getElementById('main')?.focus({ preventScroll: true })
  }, [path])
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to the view
      </a>
      <Nav current={name} />
      <div className="column">
        <TopBar onPalette={() => setOpen('palette')} onHelp={() => setOpen('help')} onLeave={onLeave} />
        <main id="main" tabIndex={-1}>
          <Boundary key={path}>
            <Suspense fallback={<Skeleton />}>
              {view === undefined ? (
                <Empty icon="search" title="There is no such view.">
                  <LinkButton href="/">Go to the overview</LinkButton>
                </Empty>
              ) : (
                <view.component />
              )}
            </Suspense>
          </Boundary>
        </main>
      </div>
      {open === 'palette' && <Palette onClose={() => setOpen(null)} />}
      {open === 'help' && <Help onClose={() => setOpen(null)} />}
    </div>
  )
}

function Nav({ current }: { current: string }) {
  const { mayAdmin, seesFleet } = useShared()
  const shown = views.filter(
    ({ needs }) => (needs !== 'admin' || mayAdmin) && (needs !== 'fleet' || seesFleet),
  )
  return (
    <nav className="nav" aria-label="Views">
      <Link href="/" className="brand">
        <img src="/favicon.svg" alt="" width="24" height="24" />
        <span>Carillon</span>
      </Link>
      <ul>
        {shown.map(({ name, path, title, icon }) => (
          <li key={name}>
            <Link href={path} aria-current={name === current ? 'page' : undefined}>
              <Icon name={icon} size={15} />
              <span>{title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
