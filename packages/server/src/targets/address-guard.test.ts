import { expect, test } from 'vitest'
import { createAddressGuard, describeReach, parseNetwork } from './address-guard.js'

const strict = createAddressGuard({ allowedNetworks: [], allowLoopback: false })

test.each([
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['link-local', '169.254.1.1', 'fe80::1', 'fe80::1%eth0', 'fe80::1%25eth0', 'febf::1%1'],
  ['zone ids on others', '::1%lo', 'fd00::1%eth0', '::ffff:127.0.0.1%1'],
  ['metadata', '169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
  ['unique-local', 'fc00::1', 'fdff::1'],
  ['site-local', 'fec0::1'],
  ['carrier-grade NAT', '100.64.0.1', '100.127.255.255'],
  ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
  ['multicast', '224.0.0.1', '239.1.1.1', 'ff02::1'],
  [
    'broadcast and reserved',
    '255.255.255.255',
    '240.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '2001:db8::1',
    '3fff::1',
  ],
  ['IPv4-mapped', '::ffff:127.0.0.1', '::ffff:a00:1', '::ffff:8.8.8.8'],
  ['IPv4-compatible', '::127.0.0.1', '::7f00:1', '::8.8.8.8'],
  ['IPv4-translated', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
  ['6to4', '2002:7f00:1::', '2002:a00:1::1'],
  ['Teredo', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['unassigned', '4000::1', '100::1', '5f00::1'],
])('%s addresses are refused', (_, ...addresses) => {
  expect(addresses.filter((address) => strict.refusal(address) === undefined)).toEqual([])
})

test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
  'the public address %s is permitted',
  (address) => {
    expect(strict.refusal(address)).toBeUndefined()
  },
)

test('what is not an address is refused', () => {
  expect(strict.refusal('example.com')).toBe('not an IP address')
  expect(strict.refusal('0x7f.1')).toBe('not an IP address')
})

test('allowing loopback opens loopback only', () => {
  const guard = createAddressGuard({ allowedNetworks: [], allowLoopback: true })
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    expect(guard.refusal(address)).toBeUndefined()
  }
  for (const address of ['10.0.0.1', '0.0.0.0', '169.254.169.254', '::', '64:ff9b::7f00:1', '::127.0.0.1']) {
    expect(guard.refusal(address)).toBeDefined()
  }
})

test('an allowed network opens its addresses only, also when written as IPv4-mapped', () => {
  const guard = createAddressGuard({
    allowedNetworks: ['10.2.0.0/16', ' fd00:1::/32 ', '192.168.7.7'],
    allowLoopback: false,
  })
  for (const address of ['10.2.0.1', '10.2.255.255', '::ffff:10.2.3.4', 'fd00:1::5', '192.168.7.7']) {
    expect(guard.refusal(address)).toBeUndefined()
  }
  for (const address of [
    '10.3.0.1',
    '10.1.255.255',
    '::ffff:10.3.0.1',
    'fd00:2::5',
    '192.168.7.8',
    '127.0.0.1',
  ]) {
    expect(guard.refusal(address)).toBeDefined()
  }
})

test.each([
  '',
  '10',
  '10/8',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  'fd00::/129',
  '010.0.0.0/8',
  'example.com',
])('the network %j is refused with an example of a right one', (text) => {
  expect(() => parseNetwork(text)).toThrow(/is not a network.*10\.0\.0\.0\/8/)
})

test('who opens NAT64 reaches the public IPv4 network through it, and nothing around the gateway', () => {
  const guard = createAddressGuard({
    allowedNetworks: ['64:ff9b::/96', '10.2.0.0/16'],
    allowLoopback: false,
  })
  for (const address of ['64:ff9b::808:808', '64:ff9b::8.8.8.8', '64:ff9b::10.2.0.1']) {
    expect(guard.refusal(address)).toBeUndefined()
  }
  for (const address of [
    '64:ff9b::7f00:1',
    '64:ff9b::10.3.0.1',
    '64:ff9b::169.254.169.254',
    '64:ff9b::168.63.129.16',
    '64:ff9b::',
    '64:ff9b:1::808:808',
  ]) {
    expect(guard.refusal(address)).toBeDefined()
  }
})

test('what targets may reach is said in a line', () => {
  expect(describeReach({ allowedNetworks: [], allowLoopback: false })).toBe(
    'public addresses only; CARILLON_ALLOWED_NETWORKS opens others',
  )
  expect(describeReach({ allowedNetworks: ['10.0.0.0/8'], allowLoopback: false })).toBe(
    'public addresses, 10.0.0.0/8',
  )
  expect(describeReach({ allowedNetworks: ['10.0.0.0/8'], allowLoopback: true })).toBe(
    'public addresses, loopback, 10.0.0.0/8 (loopback because this API listens on loopback only)',
  )
})
