import { type CatalogueEntry, errorCatalogue } from './errors.js'

const introduction = `# Errors

<!-- Generated from the error catalogue by \`npm run docs\`. Do not edit by hand. -->

Every error of the API is a problem document ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)) with the media type
\`application/problem+json\`:

| field | what it is |
|---|---|
| \`type\` | \`urn:carillon:error:CODE\` |
| \`title\` | what is wrong, the same for every occurrence |
| \`status\` | the HTTP status |
| \`code\` | one of the codes below; a code never changes its meaning |
| \`detail\` | what is wrong this time |
| \`hint\` | what to do about it |
| \`request_id\` | also in the header \`X-Request-Id\` and in the log of the server; send your own to keep it |
| \`errors\` | the fields at fault: \`pointer\` (a JSON pointer into the body, \`query:NAME\` or \`path:NAME\`), \`message\`, and sometimes \`hint\` |

Programs should look at \`code\`. Texts may improve from version to version.
`

/** docs/reference/errors.md, from the catalogue. */
export function renderErrorReference(): string {
  const entries = Object.entries<CatalogueEntry>(errorCatalogue).sort(
    ([, a], [, b]) => a.status - b.status, // stable: within a status the catalogue's order
  )
  const overview = entries.map(
    ([code, { status, title }]) => `| ${status} | [\`${code}\`](#${code}) | ${title} |`,
  )
  const sections = entries.map(
    ([code, { status, title, hint }]) => `## ${code}\n\n**${status}** ${title}.\n\n${hint}\n`,
  )
  return [
    introduction,
    '| status | code | what is wrong |',
    '|---|---|---|',
    ...overview,
    '',
    sections.join('\n'),
  ].join('\n')
}
