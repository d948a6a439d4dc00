import { routeOf } from '../lib/location.js'
import { usePlace } from '../lib/router.js'
import { CreateJob, EditJob } from './job-edit.js'
import { JobPage } from './job.js'
import { JobsList } from './jobs.js'

/** /jobs, /jobs/new, /jobs/ID and /jobs/ID/edit. */
export default function JobsRouter() {
  const [id, what] = routeOf(usePlace().path).rest
  if (id === undefined) return <JobsList />
  if (id === 'new') return <CreateJob />
  if (what === 'edit') return <EditJob key={id} id={id} />
  return <JobPage key={id} id={id} />
}
