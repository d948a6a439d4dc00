import { type Call, type Field, type OpenApiDocument, referenceOf } from './document.js'

/** docs/reference/api.md: the same as the served page, for those who read the repository. */
export function renderApiReference(document: OpenApiDocument): string {
  const { groups, shapes } = referenceOf(document)
  const lines = [
    '# API',
    '',
    '<!-- Generated from the routes by `npm run docs`. Do not edit by hand. -->',
    '',
    'A running server has the same as a page, `/api/v1/reference`, and as OpenAPI 3.1, `/api/v1/openapi.json`. Bodies are JSON; unknown',
    'fields and parameters are refused by name. Every error is a problem document: [errors](errors.md).',
    '',
  ]
  for (const { name, calls } of groups) {
    if (calls.length === 0) continue
    lines.push(`- **${name}**: ${calls.map((call) => `[${call.id}](#${anchor(call.id)})`).join(', ')}`)
  }
  for (const { name, text, calls } of groups) {
    if (calls.length === 0) continue
    lines.push('', `## ${capital(name)}`, '', `${text}.`)
    for (const call of calls) lines.push('', ...callLines(call))
  }
  lines.push('', '## Shapes', '')
  for (const { name, text, fields } of shapes) {
    lines.push(`### ${name}`, '')
    if (text !== '') lines.push(cell(text), '')
    if (fields.length > 0) lines.push(...fieldTable(fields), '')
  }
  return `${lines.join('\n').trimEnd()}\n`
}

function callLines(call: Call): string[] {
  const lines = [`### ${call.id}`, '', `\`${call.method} ${call.path}\``, '', `${call.summary}.`]
  if (call.description !== '') lines.push('', call.description)
  if (call.parameters.length > 0) {
    lines.push('', '| parameter | in | type | |', '|---|---|---|---|')
    for (const { name, place, type, required, text } of call.parameters)
      lines.push(`| \`${name}\`${required ? ' (required)' : ''} | ${place} | ${code(type)} | ${cell(text)} |`)
  }
  if (call.body !== null) {
    lines.push('', `Body: ${code(call.body.type)}`)
    if (call.body.fields.length > 0) lines.push('', ...fieldTable(call.body.fields))
  }
  lines.push('')
  for (const { status, type, text } of call.answers)
    lines.push(`- ${status}${type === null ? '' : ` ${code(type)}`}: ${text}`)
  for (const { status, codes } of call.errors)
    lines.push(`- ${status}: ${codes.map((one) => `[\`${one}\`](errors.md#${one})`).join(', ')}`)
  return lines
}

function fieldTable(fields: readonly Field[]): string[] {
  return [
    '| field | type | |',
    '|---|---|---|',
    ...fields.map(
      ({ name, type, required, text }) =>
        `| \`${name}\`${required ? ' (required)' : ''} | ${code(type)} | ${cell(text)} |`,
    ),
  ]
}

function code(type: string): string {
  return `\`${cell(type)}\``
}

function cell(text: string): string {
  return text.replace(/\|/g, '\\|').replace(/\n/g, ' ')
}

function anchor(id: string): string {
  return id.toLowerCase()
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
