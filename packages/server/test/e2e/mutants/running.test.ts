import { describe } from 'vitest'
import { proves } from './proves.js'

describe('guards of running', () => {
  proves(['token-unchecked', 'hostname-as-owner', 'rescue-unguarded', 'start-before-due'])
})
