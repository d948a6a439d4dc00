import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true
  const labels = text.split('.')
  const wellFormed = labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label))
  // A name that ends in a number is an IPv4 address with a mistake in it: "127.0.0" or "10.0.0.256".
  return wellFormed && text.length <= 253 && !/^\d+$/.test(labels.at(-1) ?? '')
}

/**
 * A network as it is meant: a full address whose bits behind the prefix are zero. The library alone reads "10/8" as
 * 0.0.0.10/8, and "10.1.2.3/8" opens far more than its author may think. IPv4 is written as IPv4, since addresses
 * are compared after unmapping.
 */
export function isNetwork(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  if (isIP(address) === 0 || !/^\d{1,3}$/.test(prefix) || rest.length > 0) return false
  if (!ipaddr.isValidCIDR(text)) return false
  const parsed = ipaddr.parse(address)
  if (parsed instanceof ipaddr.IPv4) {
    return ipaddr.IPv4.networkAddressFromCIDR(text).toString() === parsed.toString()
  }
  if (parsed.isIPv4MappedAddress()) return false
  return ipaddr.IPv6.networkAddressFromCIDR(text).toString() === parsed.toString()
}

export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true
  return isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback'
}
