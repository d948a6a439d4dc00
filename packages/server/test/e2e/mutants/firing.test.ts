import { describe } from 'vitest'
import { proves } from './proves.js'

describe('guards of firing', () => {
  proves(['unique-dropped', 'epoch-unchecked', 'cursor-before-enqueue', 'ownership-kept'], ['unique-dropped'])
})
