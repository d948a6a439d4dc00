/** One thing that is wrong, and where: an environment name, a flag, or the name of a relation. */
export interface ConfigProblem {
  readonly where: string
  readonly message: string
}

/** Everything that is wrong with the configuration at once: nobody wants to restart once per mistake. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    const lines = problems.map((problem) => `  - ${problem.message}`)
    super(
      [`The configuration has ${count}:`, ...lines, 'All settings: docs/reference/configuration.md'].join(
        '\n',
      ),
    )
    this.problems = problems
  }
}
