import { type Call, type Field, type OpenApiDocument, referenceOf } from './document.js'

/**
 * The reference as one page without scripts: it works offline, under the strictest policy, and in whatever a person has at
 * hand at night. Everything in it comes from the document and is escaped.
 */
export function renderReferencePage(document: OpenApiDocument): string {
  const { title, version, description, groups, shapes } = referenceOf(document)
  const known = new Set(shapes.map(({ name }) => name))
  const filled = groups.filter(({ calls }) => calls.length > 0)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} API reference</title>
<style>${referenceStyle}</style>
</head>
<body>
<nav aria-label="Calls">
<p><strong>${escaped(title)}</strong> ${escaped(version)}</p>
${filled.map(({ name, calls }) => `<h2>${escaped(name)}</h2><ul>${calls.map(navItem).join('')}</ul>`).join('\n')}
<h2>shapes</h2><ul>${shapes.map(({ name }) => `<li><a href="#shape-${name}">${escaped(name)}</a></li>`).join('')}</ul>
</nav>
<main>
<h1>API reference</h1>
<p>${escaped(description)} The same as OpenAPI 3.1: <a href="openapi.json">openapi.json</a>.</p>
${filled.map(({ name, text, calls }) => `<h2>${escaped(name)}</h2><p>${escaped(text)}.</p>${calls.map((call) => callSection(call, known)).join('')}`).join('\n')}
<h2>Shapes</h2>
${shapes.map(({ name, text, fields }) => `<section id="shape-${name}"><h3>${escaped(name)}</h3>${paragraph(text)}${fieldTable(fields, known)}</section>`).join('\n')}
</main>
</body>
</html>
`
}

function navItem({ id, method, summary }: Call): string {
  return `<li><a href="#${id}"><b class="${method.toLowerCase()}">${method}</b> ${escaped(summary)}</a></li>`
}

function callSection(call: Call, known: ReadonlySet<string>): string {
  const { id, method, path, summary, description, parameters, body, answers, errors } = call
  const rows = parameters.map(({ name, place, ...field }) => ({ ...field, name: `${name} (${place})` }))
  const outcomes = [
    ...answers.map(
      ({ status, type, text }) =>
        `<li><b>${status}</b> ${type === null ? '' : `${typeCode(type, known)} `}${escaped(text)}</li>`,
    ),
    ...errors.map(
      ({ status, codes }) =>
        `<li><b>${status}</b> ${codes.map((one) => `<code>${escaped(one)}</code>`).join(', ')}</li>`,
    ),
  ]
  return `<section id="${id}">
<h3>${escaped(summary)}</h3>
<p class="call"><b class="${method.toLowerCase()}">${method}</b> <code>${escaped(path)}</code></p>
${paragraph(description)}${rows.length > 0 ? `<h4>Parameters</h4>${fieldTable(rows, known)}` : ''}
${body === null ? '' : `<h4>Body</h4><p>${typeCode(body.type, known)}</p>${fieldTable(body.fields, known)}`}
<h4>Answers</h4><ul>${outcomes.join('')}</ul>
</section>`
}

function fieldTable(fields: readonly Field[], known: ReadonlySet<string>): string {
  if (fields.length === 0) return ''
  const rows = fields.map(
    ({ name, type, required, text }) =>
      `<tr><td><code>${escaped(name)}</code>${required ? ' <em>required</em>' : ''}</td><td>${typeCode(type, known)}</td><td>${escaped(text)}</td></tr>`,
  )
  return `<div class="scroll"><table><thead><tr><th>name</th><th>type</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

/** Names of shapes in it lead to them. */
function typeCode(type: string, known: ReadonlySet<string>): string {
  const linked = escaped(type).replace(/\b[A-Z]\w*/g, (word) =>
    known.has(word) ? `<a href="#shape-${word}">${word}</a>` : word,
  )
  return `<code>${linked}</code>`
}

function paragraph(text: string): string {
  return text === '' ? '' : `<p>${escaped(text)}</p>`
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** Between the tags of <style>, byte for byte: the page's policy names its hash. */
export const referenceStyle = `
:root { color-scheme: light dark; --line: #8884; --quiet: #667; --link: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --quiet: #aab; --link: #8ab4f8; } }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 20rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 0 1rem; border-right: 1px solid var(--line); box-sizing: border-box; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; color: var(--quiet); margin: 1rem 0 .3rem; }
nav ul { list-style: none; margin: 0; padding: 0; font-size: .85rem; }
main { padding: 0 2rem 4rem; max-width: 60rem; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
b.get, b.post, b.put, b.patch, b.delete { font: 600 .75em ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; } .scroll { overflow-x: auto; }
td, th { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
em { color: var(--quiet); font-size: .85em; }
@media (max-width: 50rem) { body { grid-template-columns: 1fr; } nav { position: static; height: auto; } }
`
