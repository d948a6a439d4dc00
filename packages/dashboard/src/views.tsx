import { type ComponentType, lazy, type LazyExoticComponent } from 'react'
import type { IconName } from './ui/icon.js'
import { Overview } from './views/overview.js'

interface View {
  name: string
  path: string
  title: string
  icon: IconName
  /** g and this letter leads there. */
  key: string
  needs?: 'admin' | 'fleet'
  component: ComponentType | LazyExoticComponent<ComponentType>
}

/** The first view is in the first file; each other one is loaded when somebody goes there. */
export const views: readonly View[] = [
  { name: '', path: '/', title: 'Overview', icon: 'overview', key: 'o', component: Overview },
  {
    name: 'jobs',
    path: '/jobs',
    title: 'Jobs',
    icon: 'jobs',
    key: 'j',
    component: lazy(() => import('./views/jobs-router.js')),
  },
  {
    name: 'runs',
    path: '/runs',
    title: 'Runs',
    icon: 'runs',
    key: 'r',
    component: lazy(() => import('./views/runs-router.js')),
  },
  {
    name: 'dead-letters',
    path: '/dead-letters',
    title: 'Dead letters',
    icon: 'letters',
    key: 'd',
    component: lazy(() => import('./views/dead-letters.js')),
  },
  {
    name: 'load',
    path: '/load',
    title: 'Load',
    icon: 'load',
    key: 'l',
    component: lazy(() => import('./views/load.js')),
  },
  {
    name: 'operations',
    path: '/operations',
    title: 'Operations',
    icon: 'filter',
    key: 'p',
    component: lazy(() => import('./views/operations.js')),
  },
  {
    name: 'alerts',
    path: '/alerts',
    title: 'Alerts',
    icon: 'bell',
    key: 'a',
    component: lazy(() => import('./views/alerts.js')),
  },
  {
    name: 'targets',
    path: '/targets',
    title: 'Targets',
    icon: 'target',
    key: 't',
    component: lazy(() => import('./views/targets.js')),
  },
  {
    name: 'cluster',
    path: '/cluster',
    title: 'Cluster',
    icon: 'cluster',
    key: 'c',
    needs: 'fleet',
    component: lazy(() => import('./views/cluster.js')),
  },
  {
    name: 'audit',
    path: '/audit',
    title: 'Audit',
    icon: 'audit',
    key: 'u',
    needs: 'admin',
    component: lazy(() => import('./views/audit.js')),
  },
  {
    name: 'keys',
    path: '/keys',
    title: 'Keys',
    icon: 'key',
    key: 'k',
    needs: 'admin',
    component: lazy(() => import('./views/keys.js')),
  },
]
