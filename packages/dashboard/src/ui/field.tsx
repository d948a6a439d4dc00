import { type ReactNode, useId } from 'react'

interface FieldProps {
  label: string
  hint?: ReactNode
  /** What is wrong with what was given, from the server or before it. */
  problem?: string | null | undefined
  children: (props: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ReactNode
}

export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId()
  const wrong = problem != null && problem !== ''
  return (
    <div className={wrong ? 'field wrong' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint`, 'aria-invalid': wrong })}
      <p id={`${id}-hint`} className="hint" aria-live="polite">
        {wrong ? problem : hint}
      </p>
    </div>
  )
}

interface TextProps {
  label: string
  value: string
  onChange: (value: string) => void
  hint?: ReactNode
  problem?: string | null | undefined
  placeholder?: string
  mono?: boolean
  rows?: number
  type?: string
  required?: boolean
  autoFocus?: boolean
}

export function TextField({ label, hint, problem, value, onChange, rows, mono, ...rest }: TextProps) {
  const className = mono === true ? 'mono' : ''
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(props) =>
        rows === undefined ? (
          <input
            {...props}
            {...rest}
            className={className}
            value={value}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <textarea
            {...props}
            className={className}
            rows={rows}
            value={value}
            spellCheck={false}
            placeholder={rest.placeholder}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  )
}

export function SelectField({
  label,
  value,
  onChange,
  options,
  hint,
  problem,
}: {
  label: string
  value: string
  onChange: (value: string) => void
  options: readonly (string | readonly [string, string])[]
  hint?: ReactNode
  problem?: string | null | undefined
}) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(props) => (
        <select {...props} value={value} onChange={(event) => onChange(event.target.value)}>
          {options.map((option) => {
            const [name, words] = typeof option === 'string' ? [option, option] : option
            return (
              <option key={name} value={name}>
                {words}
              </option>
            )
          })}
        </select>
      )}
    </Field>
  )
}

export function CheckField({
  label,
  value,
  onChange,
}: {
  label: string
  value: boolean
  onChange: (value: boolean) => void
}) {
  return (
    <label className="check">
      <input type="checkbox" checked={value} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  )
}
