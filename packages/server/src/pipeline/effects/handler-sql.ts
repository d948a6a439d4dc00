import { EffectsUsageError, type Sql, type SqlResult } from '@carillon/sdk'
import type { Guest } from '../../db/guest-pool.js'

/** The `sql` that a handler gets, for as long as its part of the transaction lasts. */
export function handlerSql(guest: Guest): { sql: Sql; revoke: () => void } {
  let over = false
  const query = async <Row extends object>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<SqlResult<Row>> => {
    if (over) {
      throw new EffectsUsageError(
        'sql was used after its transaction had ended. Await every statement inside it.',
      )
    }
    refuseControl(text)
    return guest.query<Row>(text, params)
  }
  const template = async <Row extends object>(
    strings: TemplateStringsArray,
    ...values: readonly unknown[]
  ): Promise<Row[]> => {
    if (!Array.isArray(strings)) {
      throw new EffectsUsageError(
        'sql is a template tag: sql`…`. For a text with parameters: sql.query(text, params).',
      )
    }
    const text = strings.reduce((before, part, index) => `${before}$${index}${part}`)
    return (await query<Row>(text, values)).rows
  }
  return {
    sql: Object.assign(template, { query }),
    revoke() {
      over = true
    },
  }
}

const controls = new Set(['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT'])

/** The transaction is not the handler's to begin or end. Savepoints are: they end nothing. */
export function refuseControl(text: string): void {
  const [first = '', second = '', third = ''] = leadingWords(text)
  const toSavepoint =
    first === 'ROLLBACK' && (second === 'TO' || (/^(WORK|TRANSACTION)$/.test(second) && third === 'TO'))
  const control = controls.has(first) || (first === 'PREPARE' && second === 'TRANSACTION')
  if (!control || toSavepoint) return
  throw new EffectsUsageError(
    `${first} does not belong into ctx.transaction: it is committed when the callback returns, and rolled back when the ` +
      'callback throws. For a part that may fail alone, use SAVEPOINT and ROLLBACK TO.',
  )
}

/** The first three words of a statement. Comments nest, and an empty statement may stand before. */
function leadingWords(text: string): string[] {
  const words: string[] = []
  let at = 0
  let depth = 0
  while (at < text.length && words.length < 3) {
    const rest = text.slice(at, at + 2)
    if (rest === '/*') depth += 1
    else if (rest === '*/' && depth > 0) depth -= 1
    if (rest === '/*' || rest === '*/') {
      at += 2
    } else if (depth > 0) at += 1
    else if (rest === '--') at = endOfLine(text, at)
    else if (/[\s;]/.test(rest.charAt(0))) at += 1
    else {
      const word = /^[a-z]+/i.exec(text.slice(at, at + 20))
      if (word === null) break
      words.push(word[0].toUpperCase())
      at += word[0].length
    }
  }
  return words
}

function endOfLine(text: string, from: number): number {
  const end = text.slice(from).search(/[\r\n]/)
  return end === -1 ? text.length : from + end
}
