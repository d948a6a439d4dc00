/** A leased run, as it was charged: `costFrom` is the tenant's account before it. */
export interface Charge {
  tenant: number
  costFrom: number
  weight: number
}

/**
 * What each tenant has had of this worker: every run costs 1/weight, and the smallest account goes first. One that had
 * nothing to run begins where the others are, so that nobody saves up a claim by being idle; a debt stays.
 */
export class TenantAccounts {
  private readonly spent = new Map<number, number>()
  private reached = 0

  /** The account of a tenant that is not named in `all`. */
  get virtual(): number {
    return this.reached
  }

  /** What a tenant has had, as far as it counts. */
  of(tenant: number): number {
    return Math.max(this.spent.get(tenant) ?? 0, this.reached)
  }

  all(): { tenants: number[]; accounts: number[] } {
    return { tenants: [...this.spent.keys()], accounts: [...this.spent.values()] }
  }

  charge(charges: readonly Charge[]): void {
    for (const { tenant, costFrom, weight } of charges) {
      this.reached = Math.max(this.reached, costFrom)
      this.spent.set(tenant, Math.max(this.spent.get(tenant) ?? 0, costFrom + 1 / weight))
    }
    for (const [tenant, spent] of this.spent) if (spent <= this.reached) this.spent.delete(tenant)
  }
}
