import { routeOf } from '../lib/location.js'
import { usePlace } from '../lib/router.js'
import { RunPage } from './run.js'
import { RunsList } from './runs.js'

export default function RunsRouter() {
  const [id] = routeOf(usePlace().path).rest
  return id === undefined ? <RunsList /> : <RunPage key={id} id={id} />
}
