/** @type {import('../build.mjs').Mutant} */
export const startBeforeDue = {
  guard: "a run waits until a lower bound of the database's clock has reached its time",
  edits: [
    {
      file: 'server/dist/pipeline/execute/start-line.js',
      from: 'for (let first = this.instants.first; first <= now; first = this.instants.first) {',
      to: 'for (let first = this.instants.first; first <= now + 1_000; first = this.instants.first) {',
    },
  ],
}
