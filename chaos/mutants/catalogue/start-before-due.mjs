/** @type {import('../build.mjs').Mutant} */
export const startBeforeDue = {
  guard: "a run waits until a lower bound of the database's clock has reached its time",
  edits: [
    {
      file: 'server/dist/pipeline/execute/start-line.js',
      from: 'const firstAhead = this.waiting.findIndex((entry) => entry.availableAt > now);',
      to: 'const firstAhead = this.waiting.findIndex((entry) => entry.availableAt > now + 1_000);',
    },
  ],
}
