import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

export interface AddressGuardOptions {
  /** Networks (CIDR) and single addresses that may be dialled although they are not public. */
  allowedNetworks: readonly string[]
  allowLoopback: boolean
}

/** Decides which addresses an HTTP target may be reached at, so that jobs cannot probe the network around us. */
export interface AddressGuard {
  /** Why this address may not be dialled, e.g. "a private address"; undefined when it may. */
  refusal(address: string): string | undefined
}

/** All addresses that a host has are refused. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError'
  readonly host: string
  readonly address: string

  constructor(host: string, address: string, refusal: string) {
    super(blockedAddressMessage(host, address, refusal))
    this.host = host
    this.address = address
  }
}

export function blockedAddressMessage(host: string, address: string, refusal: string): string {
  const subject = host === address ? address : `${host} has the address ${address}, which`
  return `${subject} is ${refusal}: Carillon does not connect there. ${allowHint}`
}

export const allowHint =
  'If jobs may reach it, add its network to CARILLON_ALLOWED_NETWORKS (CIDR, comma-separated) on the server.'

export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const allowed = options.allowedNetworks.map(parseNetwork)
  if (options.allowLoopback) allowed.push(...loopback)
  return {
    refusal(text) {
      if (isIP(text) === 0) return 'not an IP address'
      const address = parse(text)
      // An allowance is given for the machine, whichever way its IPv4 address is written.
      const mapped = mappedIPv4(address)
      const written = mapped === undefined ? [address] : [address, mapped]
      const isAllowed = (form: Address) => allowed.some((network) => contains(network, form))
      if (!written.some(isAllowed)) return specialUse(address)
      // Who opens NAT64 opens a way to the public IPv4 network, not to what the gateway sees around itself.
      const translated = nat64IPv4(address)
      if (translated === undefined || isAllowed(translated)) return undefined
      const refusal = specialUse(translated)
      return refusal === undefined ? undefined : `a NAT64 address (of ${translated.toString()}, ${refusal})`
    },
  }
}

/** For the start-up line: what targets may reach from here, and how to change it. */
export function describeReach({ allowedNetworks, allowLoopback }: AddressGuardOptions): string {
  const opened = [...(allowLoopback ? ['loopback'] : []), ...allowedNetworks]
  const why = allowLoopback ? ' (loopback because this API listens on loopback only)' : ''
  if (opened.length === 0) return 'public addresses only; CARILLON_ALLOWED_NETWORKS opens others'
  return `public addresses, ${opened.join(', ')}${why}`
}

/** Takes "10.0.0.0/8", "fd00::/8", or a single address. Throws an Error that says what is wrong. */
export function parseNetwork(text: string): Network {
  const [address = '', prefix, ...rest] = text.trim().split('/')
  const family = isIP(address)
  const widest = family === 4 ? 32 : 128
  const bits = prefix === undefined ? widest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1
  if (family === 0 || rest.length > 0 || bits < 0 || bits > widest) {
    throw new Error(
      `"${text}" is not a network. Write it as ADDRESS/BITS, for example 10.0.0.0/8 or fd00::/8, or give a single address.`,
    )
  }
  return [parse(address), bits]
}

/** ipaddr.js alone reads ::127.0.0.1 as ::ffff:127.0.0.1; the URL parser writes IPv6 as the system means it. */
function parse(address: string): Address {
  if (isIP(address) === 4) return ipaddr.IPv4.parse(address)
  const withoutZone = address.replace(/%.*$/, '')
  return ipaddr.IPv6.parse(new URL(`http://[${withoutZone}]/`).hostname.slice(1, -1))
}

const network = (text: string): Network => ipaddr.parseCIDR(text)
const loopback = [network('127.0.0.0/8'), network('::1/128')]
const globalUnicastV6 = network('2000::/3')
const nat64 = network('64:ff9b::/96')
/** Azure serves machine metadata and credentials at an address of the public range. */
const azureWireServer = network('168.63.129.16/32')

/** Everything but plain public unicast is special: the list of names below only makes messages readable. */
function specialUse(address: Address): string | undefined {
  const mapped = mappedIPv4(address)
  if (mapped !== undefined) return `an IPv4-mapped IPv6 address (of ${mapped.toString()})`
  const range: string = address.range()
  if (range !== 'unicast') return rangeNames[range] ?? `an address of special use (${range})`
  if (contains(azureWireServer, address)) return 'a cloud metadata address'
  // What lies outside of 2000::/3 is not assigned, or embeds an IPv4 address in a deprecated way (::127.0.0.1).
  if (address.kind() === 'ipv6' && !contains(globalUnicastV6, address)) return 'a reserved address'
  return undefined
}

const rangeNames: Record<string, string> = {
  private: 'a private address',
  loopback: 'a loopback address',
  linkLocal: 'a link-local address (cloud metadata is served there)',
  uniqueLocal: 'a private (unique-local) address',
  carrierGradeNat: 'a private (carrier-grade NAT) address',
  unspecified: 'the unspecified address',
  broadcast: 'the broadcast address',
  multicast: 'a multicast address',
  reserved: 'a reserved address',
  rfc6052: 'a NAT64 address',
  rfc6145: 'an IPv4-translated address',
  '6to4': 'a 6to4 address',
  teredo: 'a Teredo address',
}

function mappedIPv4(address: Address): ipaddr.IPv4 | undefined {
  return 'isIPv4MappedAddress' in address && address.isIPv4MappedAddress()
    ? address.toIPv4Address()
    : undefined
}

/** The IPv4 address behind one with the well-known prefix of NAT64 (RFC 6052): its last 32 bits. */
function nat64IPv4(address: Address): ipaddr.IPv4 | undefined {
  if (!contains(nat64, address)) return undefined
  return new ipaddr.IPv4(address.toByteArray().slice(-4))
}

function contains(range: Network, address: Address): boolean {
  return range[0].kind() === address.kind() && address.match(range)
}
