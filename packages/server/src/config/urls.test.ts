import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isHttpUrl, isPostgresUrl, maskUrlPassword } from './urls.js'

describe('maskUrlPassword', () => {
  it.each([
    ['postgres://u:secret@db:5432/d?sslmode=require', 'postgres://u:****@db:5432/d?sslmode=require'],
    ['postgres://:secret@db/d', 'postgres://:****@db/d'],
    ['postgres://u@db:5432/d', 'postgres://u@db:5432/d'],
    ['postgres://db:5432/d', 'postgres://db:5432/d'],
    ['postgres://u:secret@[::1]:5432/d', 'postgres://u:****@[::1]:5432/d'],
    ['postgres://u:secret@a:5432,b:5433/d', 'postgres://u:****@a:5432,b:5433/d'],
    ['postgres:///d?host=/run/pg&password=secret&x=1', 'postgres:///d?host=/run/pg&password=****&x=1'],
    ['postgres://db/d?sslpassword=secret', 'postgres://db/d?sslpassword=****'],
    ['http://u:secret@host/path', 'http://u:****@host/path'],
  ])('shows %s as %s', (url, shown) => {
    expect(maskUrlPassword(url)).toBe(shown)
  })

  it.each([
    'postgres://u:se@secret@db/d',
    'postgres://u:se/secret@db/d',
    'postgres://u:se?secret@db/d',
    'postgres://u:se#secret@db/d',
    'u:secret@db/d',
    'secret',
  ])('hides the password of the ill-formed %s', (text) => {
    expect(maskUrlPassword(text)).not.toContain('secret')
  })

  it('never shows a password, whatever characters it has and whether or not they are escaped', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (noise, escaped) => {
        const password = `${noise}Geheim${noise}`
        const url = `postgres://user:${escaped ? encodeURIComponent(password) : password}@db:5432/d`
        expect(maskUrlPassword(url)).toBe('postgres://user:****@db:5432/d')
      }),
    )
  })
})

describe('isPostgresUrl', () => {
  it.each([
    'postgres://localhost',
    'postgresql://u:p@db.example.com:5432/carillon?sslmode=verify-full',
    'postgres://u:p%40ss%2F@db/d',
    'postgres://u@[::1]:5432/d',
    'postgres://u:p@a:5432,b:5433/d?target_session_attrs=read-write',
    'postgres:///d?host=/var/run/postgresql',
    'postgres://%2Fvar%2Frun%2Fpostgresql/d',
  ])('accepts %s', (url) => {
    expect(isPostgresUrl(url)).toBe(true)
  })

  it.each([
    ['another database', 'mysql://u:p@db/d'],
    ['no scheme', 'u:p@db/d'],
    ['nothing behind the scheme', 'postgres://'],
    ['an unescaped @ in the password', 'postgres://u:p@ss@db/d'],
    ['an unescaped / in the password', 'postgres://u:p/ss@db/d'],
    ['a broken escape', 'postgres://u:100%@db/d'],
    ['a space', 'postgres://u:p@db/my db'],
    ['a port that is none', 'postgres://db:65536/d'],
    ['port zero', 'postgres://db:0/d'],
    ['letters as port', 'postgres://db:port/d'],
    ['a wrong port on the second host', 'postgres://a:5432,b:x/d'],
  ])('refuses %s', (_what, url) => {
    expect(isPostgresUrl(url)).toBe(false)
  })
})

describe('isHttpUrl', () => {
  it.each(['http://127.0.0.1:7420', 'https://carillon.example.com/base'])('accepts %s', (url) => {
    expect(isHttpUrl(url)).toBe(true)
  })

  it.each(['127.0.0.1:7420', 'localhost:7420', 'ftp://host', 'http://', 'http://host:99999'])(
    'refuses %s',
    (url) => {
      expect(isHttpUrl(url)).toBe(false)
    },
  )
})
