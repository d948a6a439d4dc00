// Reads what the schedulers count about themselves.

const name = 'carillon_fires_refused_by_epoch_total'

/** Writes that the database refused because the partition had a newer epoch, over the lives that are left. */
export async function refusedByEpoch(fleet) {
  let sum = 0
  for (const { url } of fleet.schedulers) {
    const text = await fetch(`${url}/metrics`).then((response) => response.text())
    const value = text.split('\n').find((line) => line.startsWith(name))
    sum += Number(value?.split(' ').at(-1) ?? 0)
  }
  return sum
}
