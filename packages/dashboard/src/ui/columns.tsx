import type { ReactNode } from 'react'

/** The head of a table: what its columns are. Numbers stand to the right; what can be done has no words above it. */
export function Columns({
  of,
  actions = false,
  first,
}: {
  of: readonly (string | { number: string })[]
  actions?: boolean
  /** A column before them, such as one to select rows by. */
  first?: ReactNode
}) {
  return (
    <thead>
      <tr>
        {first}
        {of.map((column) =>
          typeof column === 'string' ? (
            <th key={column} scope="col">
              {column}
            </th>
          ) : (
            <th key={column.number} scope="col" className="number">
              {column.number}
            </th>
          ),
        )}
        {actions && (
          <th scope="col">
            <span className="unseen">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  )
}
