import { type ReactNode, useId } from 'react';

interface Common {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

export interface TextFieldProps extends Common {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'search' | 'number' | 'url' | 'email' | 'password';
  /** A secret that no password manager shall keep: dots, and no name. */
  readonly masked?: boolean;
  readonly autoComplete?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly autoFocus?: boolean;
  readonly rows?: number;
  readonly inputMode?: 'numeric' | 'text';
  readonly name?: string;
}

/** Dialogs give the focus to what carries this when they open; what had it before they did has lost it by then. */
const isFirst = (field: HTMLElement | null) => field?.setAttribute('autofocus', '');

/** A field of text, of one line or, with `rows`, of several. */
export function TextField({
  label,
  hint,
  error,
  value,
  onChange,
  rows,
  masked,
  type = 'text',
  ...rest
}: TextFieldProps) {
  const id = useId();
  const shared = {
    id,
    value,
    spellCheck: false,
    autoCapitalize: 'off',
    className: masked ? 'input masked' : 'input',
    'aria-invalid': error !== undefined,
    'aria-describedby': hint !== undefined || error !== undefined ? `${id}-more` : undefined,
    ...rest,
    autoComplete: rest.autoComplete ?? 'off',
    ref: rest.autoFocus ? isFirst : undefined,
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {rows === undefined ? (
        <input {...shared} type={type} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea {...shared} rows={rows} onChange={(event) => onChange(event.target.value)} />
      )}
      <More id={`${id}-more`} hint={hint} error={error} />
    </div>
  );
}

export interface SelectFieldProps<Value extends string> extends Common {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly (NoInfer<Value> | { readonly value: NoInfer<Value>; readonly label: string })[];
}

/** A choice of few. */
export function SelectField<Value extends string>({
  label,
  hint,
  error,
  value,
  onChange,
  options,
}: SelectFieldProps<Value>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" value={value} onChange={(event) => onChange(event.target.value as Value)}>
        {options.map((option) => {
          const { value, label } = typeof option === 'string' ? { value: option, label: option } : option;
          return (
            <option key={value} value={value}>
              {label}
            </option>
          );
        })}
      </select>
      <More id={`${id}-more`} hint={hint} error={error} />
    </div>
  );
}

export interface CheckFieldProps extends Common {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** Yes or no. */
export function CheckField({ label, hint, error, checked, onChange }: CheckFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <span className="check">
        <input id={id} type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
        <label htmlFor={id}>{label}</label>
      </span>
      <More id={`${id}-more`} hint={hint} error={error} />
    </div>
  );
}

function More({
  id,
  hint,
  error,
}: {
  readonly id: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}) {
  if (hint === undefined && error === undefined) return null;
  return (
    <span id={id} className={error === undefined ? 'small second' : 'small removed'}>
      {error ?? hint}
    </span>
  );
}
