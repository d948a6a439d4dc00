// The import rules of the house. Stages meet in the tables, or through what main.ts hands over.
const server = '^packages/server/src'
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'stages-never-import-each-other',
      comment: 'pipeline/fire may not import pipeline/queue: the tables between them are the interface.',
      severity: 'error',
      from: { path: `${server}/pipeline/([^/]+)/` },
      to: { path: `${server}/pipeline/([^/]+)/`, pathNot: `${server}/pipeline/$1/` },
    },
    {
      name: 'time-is-pure',
      comment: 'time/ has no I/O and no clock of its own.',
      severity: 'error',
      from: { path: `${server}/time/`, pathNot: '[.]test[.]ts$' },
      to: {
        path: [
          `${server}/(?!time/)`,
          '^(node:)?(fs|net|http|https|child_process|timers|process|os)(/|$)',
          'node_modules/(pg|fastify|undici)/',
        ],
      },
    },
    {
      name: 'http-has-no-sql',
      severity: 'error',
      from: { path: `${server}/http/` },
      to: { path: [`${server}/db/(?!errors)`, 'node_modules/pg/'] },
    },
    {
      name: 'targets-know-no-stage',
      severity: 'error',
      from: { path: `${server}/targets/` },
      to: { path: [`${server}/(pipeline|http|cluster|db)/`] },
    },
    {
      name: 'platform-and-db-are-the-ground-floor',
      severity: 'error',
      from: { path: `${server}/(platform|db)/` },
      to: { path: `${server}/(pipeline|http|cluster|targets|time)/` },
    },
    {
      name: 'cluster-knows-no-stage',
      severity: 'error',
      from: { path: `${server}/cluster/` },
      to: { path: `${server}/(pipeline|http|targets)/` },
    },
    {
      name: 'only-main-composes',
      comment: 'Nothing inside the server imports its composition root.',
      severity: 'error',
      from: { path: server, pathNot: [`${server}/(index|main)[.]ts$`, '[.]test[.]ts$'] },
      to: { path: `${server}/(index|main)[.]ts$` },
    },
    {
      name: 'contract-stands-alone',
      severity: 'error',
      from: { path: '^packages/contract/src' },
      to: { path: '^packages/(?!contract)' },
    },
    {
      name: 'sdk-is-light',
      comment: 'People install the SDK into their own services: contract only.',
      severity: 'error',
      from: { path: '^packages/sdk/src' },
      to: { path: ['^packages/(server|cli|dashboard)', 'node_modules/(pg|fastify|undici|croner)/'] },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: ['[.]d[.]ts$', '[.]test[.]ts$', 'src/index[.]ts$'] },
      to: {},
    },
    {
      name: 'no-undeclared-dependency',
      severity: 'error',
      from: { path: '^packages/[^/]+/src', pathNot: '[.]test[.]ts$' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.check.json' },
    enhancedResolveOptions: {
      conditionNames: ['carillon:source', 'import', 'node', 'default'],
      exportsFields: ['exports'],
    },
  },
}
