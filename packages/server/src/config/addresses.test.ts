import { describe, expect, it } from 'vitest'
import { isHost, isLoopback, isNetwork } from './addresses.js'

describe('isHost', () => {
  it.each(['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost', 'db-1.example.com', 'a'])(
    'accepts %s',
    (text) => {
      expect(isHost(text)).toBe(true)
    },
  )

  it.each([
    '',
    '[::1]',
    '127.0.0.1:7420',
    '127.0.0',
    '10.0.0.256',
    'http://host',
    '-a',
    'a..b',
    'a_b',
    'two words',
  ])('refuses "%s"', (text) => {
    expect(isHost(text)).toBe(false)
  })
})

describe('isNetwork', () => {
  it.each(['10.0.0.0/8', '10.1.2.3/32', '0.0.0.0/0', 'fd00::/8', '::1/128', '::/0'])('accepts %s', (text) => {
    expect(isNetwork(text)).toBe(true)
  })

  it.each([
    ['bits behind the prefix', '10.1.2.3/8'],
    ['bits behind an IPv6 prefix', 'fd00::1/8'],
    ['an address without a prefix', '10.0.0.0'],
    ['a shortened address', '10/8'],
    ['a hexadecimal address', '0x0a.0.0.0/8'],
    ['a prefix too long', '10.0.0.0/33'],
    ['an IPv6 prefix too long', 'fd00::/129'],
    ['a negative prefix', '10.0.0.0/-1'],
    ['a second prefix', '10.0.0.0/8/8'],
    ['an IPv6 zone', 'fe80::%eth0/64'],
    ['IPv4 written as IPv6', '::ffff:10.0.0.0/104'],
    ['a name', 'example.com/8'],
    ['nothing', ''],
  ])('refuses %s', (_what, text) => {
    expect(isNetwork(text)).toBe(false)
  })
})

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.8.8.8', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
    'is true for %s',
    (host) => {
      expect(isLoopback(host)).toBe(true)
    },
  )

  it.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '192.168.1.1',
    '::ffff:10.0.0.1',
    'example.com',
    'localhost.example.com',
  ])('is false for %s', (host) => {
    expect(isLoopback(host)).toBe(false)
  })
})
