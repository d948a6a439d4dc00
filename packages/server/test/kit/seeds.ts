/**
 * The seeds of a random test. The same every time: a failure must come from a change of the code, not from a throw of dice.
 * CARILLON_TEST_SEEDS=5 adds five thrown ones, to look for more; CARILLON_TEST_SEED=n runs one alone, to repeat a failure.
 */
export function seedsOf(...fixed: number[]): number[] {
  const { CARILLON_TEST_SEED: one, CARILLON_TEST_SEEDS: more = '0' } = process.env
  if (one !== undefined) return [Number(one)]
  return [...fixed, ...Array.from({ length: Number(more) }, () => Math.floor(Math.random() * 2 ** 31))]
}
