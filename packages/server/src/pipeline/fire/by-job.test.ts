import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byJob } from './by-job.js'

test('finds what belongs to a job, in whatever order it is asked, and nothing for others', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(30)), fc.array(fc.nat(30)), fc.boolean(), (jobs, others, inOrder) => {
      const items = jobs.map((job) => ({ job }))
      const find = byJob(items, ({ job }) => job)
      for (const job of [...(inOrder ? jobs : []), ...others, ...jobs])
        expect(find(job)).toBe(items.find((item) => item.job === job))
    }),
  )
})
