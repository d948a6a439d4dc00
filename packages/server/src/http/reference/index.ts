import { renderApiReference } from './markdown.js'
import { apiDocument } from './api-document.js'

/** For `npm run docs`. */
export async function apiReferencePage(): Promise<string> {
  return renderApiReference(await apiDocument('0.0.0'))
}
