import { expect, test } from 'vitest'
import { TenantAccounts } from './tenant-accounts.js'

function accountOf(accounts: TenantAccounts, tenant: number): number {
  const { tenants, accounts: spent } = accounts.all()
  return spent[tenants.indexOf(tenant)] ?? accounts.virtual
}

test('a run costs a tenant one by its weight', () => {
  const accounts = new TenantAccounts()
  accounts.charge([{ tenant: 1, costFrom: 0, weight: 4 }])
  expect(accountOf(accounts, 1)).toBe(0.25)
})

test('a tenant that comes begins where the others are, not where it was', () => {
  const accounts = new TenantAccounts()
  accounts.charge([{ tenant: 1, costFrom: 0, weight: 1 }])
  accounts.charge([{ tenant: 2, costFrom: 9, weight: 1 }])
  expect([accountOf(accounts, 1), accountOf(accounts, 3)]).toEqual([9, 9])
})

test('a debt stays, and accounts that say nothing are forgotten', () => {
  const accounts = new TenantAccounts()
  accounts.charge([{ tenant: 1, costFrom: 0, weight: 0.01 }])
  for (let turn = 0; turn < 50; turn++) accounts.charge([{ tenant: 2, costFrom: turn, weight: 1 }])
  expect(accountOf(accounts, 1)).toBe(100)
  for (let turn = 50; turn < 150; turn++) accounts.charge([{ tenant: 2, costFrom: turn, weight: 1 }])
  expect(accounts.all().tenants).toEqual([2])
})
