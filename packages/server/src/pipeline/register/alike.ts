import type { JobInput } from '@carillon/contract'
import { type StoredParts, storedParts, storedText, textOf } from '../../db/stored-definition.js'
import { type Caller, currentCaller } from '../../platform/caller.js'
import { newUuid } from '../../platform/ids.js'
import {
  type Candidate,
  type CandidateOptions,
  candidateOfKind,
  type Kind,
  kindOf,
  type Terms,
} from './candidate.js'
import { Kinds } from './kinds.js'

/** What is known of a kind holds for so long: ticks that pass between the check of a job and its storing are late. */
const mostAgeMs = 1_000

/**
 * Checks the jobs of one call. Most differ from one another in name and payload only: what follows from the rest is found once for
 * all of a kind. A job that is refused is checked anew each time, so that its error is its own.
 */
export class Alike {
  private readonly kinds = new Kinds<Known>()
  private readonly caller: Caller | null = currentCaller()
  private now: number

  /** `terms`: those of all its jobs. */
  constructor(
    private readonly options: CandidateOptions,
    readonly terms: Terms,
  ) {
    this.now = options.databaseClock.atLeast()
  }

  candidate(input: JobInput): Candidate {
    const { options, terms, caller } = this
    const make = (): Known => ({ kind: kindOf(options, input, terms, this.now), parts: null, first: input })
    // What follows from the name of a job is its own.
    const known = input.target === undefined ? make() : this.kinds.of(input, make)
    const { kind, first } = known
    const text = first === input ? storedText(kind.definition) : textOf(input, partsOf(known))
    return candidateOfKind(options, kind, { input, terms, uuid: newUuid(), caller, text })
  }

  /** To be called now and then: from here on jobs are registered as of now, if they were not lately. */
  refresh(): void {
    const now = this.options.databaseClock.atLeast()
    if (now - this.now < mostAgeMs) return
    this.now = now
    this.kinds.clear()
  }
}

interface Known {
  readonly kind: Kind
  /** Of whose definition the kind has name and payload. */
  readonly first: JobInput
  /** Found when a second job of the kind comes: many have no other. */
  parts: StoredParts | null
}

function partsOf(known: Known): StoredParts {
  known.parts ??= storedParts(known.kind.definition)
  return known.parts
}
