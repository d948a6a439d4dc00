// One call of the API, and what became of it: ok, refused, or nobody knows.

const patienceMs = 8_000

/**
 * @param {string} url @param {string} method @param {string} [body]
 * @returns {Promise<{ status: 'ok' | 'failed' | 'unknown', code?: number, answer?: any, error?: string }>}
 */
export async function send(url, method, body) {
  try {
    const response = await fetch(url, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body }),
      signal: AbortSignal.timeout(patienceMs),
    })
    const code = response.status
    const answer = await response.json().catch(() => null)
    const status = response.ok ? 'ok' : code < 500 ? 'failed' : 'unknown'
    return { status, code, answer, ...(status !== 'ok' && { error: answer?.code }) }
  } catch (error) {
    const reason = error.cause?.code ?? error.name
    return { status: reason === 'ECONNREFUSED' ? 'failed' : 'unknown', error: reason }
  }
}
