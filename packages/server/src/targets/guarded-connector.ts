import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { type AddressGuard, BlockedAddressError } from './address-guard.js'

export interface GuardedConnectorOptions {
  guard: AddressGuard
  lookup?: LookupFunction
  connectTimeoutMs: number
}

/**
 * Opens every socket of the HTTP client. The guard is asked here, at the moment of dialling and with the very
 * addresses that are dialled: a check any earlier could be answered with another address (DNS rebinding).
 */
export function createGuardedConnector(options: GuardedConnectorOptions): buildConnector.connector {
  const { guard } = options
  const dial = buildConnector({
    timeout: options.connectTimeoutMs,
    lookup: guardedLookup(guard, options.lookup ?? systemLookup),
  })
  return (target, callback) => {
    // Node looks up names only: an address literal has to be checked before.
    const refusal = isIP(target.hostname) === 0 ? undefined : guard.refusal(target.hostname)
    if (refusal === undefined) {
      dial(target, callback)
      return
    }
    // Not within the call: the client is not yet ready for an answer there.
    const blocked = new BlockedAddressError(target.hostname, target.hostname, refusal)
    setImmediate(() => callback(blocked, null))
  }
}

/** Looks a name up and gives only its permitted addresses on, so that no other one can be dialled. */
function guardedLookup(guard: AddressGuard, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(error, [])
      const addresses: LookupAddress[] =
        typeof found === 'string' ? [{ address: found, family: family ?? isIP(found) }] : found
      const permitted = addresses.filter(({ address }) => guard.refusal(address) === undefined)
      const [first] = permitted
      if (first === undefined) return callback(nothingToDial(guard, hostname, addresses), [])
      if (options.all === true) callback(null, permitted)
      else callback(null, first.address, first.family)
    })
  }
}

function nothingToDial(guard: AddressGuard, hostname: string, addresses: LookupAddress[]): Error {
  const [first] = addresses
  if (first === undefined)
    return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
  return new BlockedAddressError(hostname, first.address, guard.refusal(first.address) ?? 'refused')
}
