import { type ClipboardEvent, type ReactNode, useId, useState } from 'react';
import { type TimeZone, useTimeZone } from './time-zone';

interface Common {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

export interface TextFieldProps extends Common {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'search' | 'number' | 'url' | 'email' | 'password';
  /** A secret that password managers must not offer to save: masked, in a field without a name. */
  readonly masked?: boolean;
  readonly autoComplete?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly autoFocus?: boolean;
  readonly rows?: number;
  readonly inputMode?: 'numeric' | 'text';
  readonly name?: string;
}

/**
 * When a dialog opens, it focuses the element with the attribute `autofocus`; focus that was set before is lost by
 * then.
 */
const isFirst = (field: HTMLElement | null) => field?.setAttribute('autofocus', '');

/**
 * Strings with line breaks, such as keys and certificates. A single-line field would turn the line breaks into spaces.
 */
const hasLines = (text: string): boolean => /[\r\n]/.test(text);

/** The text with its original line breaks, which a text area would normalize. */
const withBreaksOf = (before: string, text: string): string =>
  before.includes('\r\n') ? text.replace(/\r?\n/g, '\r\n') : text;

/** A masked field hides line breaks, and a line break at the end is often a mistake. */
const linesOf = (count: number, text: string): string =>
  `${count} lines${text.endsWith('\n') ? ', and the last is empty' : ''}.`;

/**
 * A text field with one line or, with `rows`, several. If several lines are pasted into it, it becomes a text area,
 * so that no line break is lost.
 */
export function TextField({
  label,
  hint: usualHint,
  error,
  value,
  onChange,
  rows,
  masked,
  type = 'text',
  ...rest
}: TextFieldProps) {
  const id = useId();
  const count = hasLines(value) ? value.split('\n').length : 1;
  const lines = Math.min(12, count);
  const hint = masked && count > 1 ? linesOf(count, value) : usualHint;
  const change = (text: string) => onChange(withBreaksOf(value, text));
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const pasted = event.clipboardData.getData('text');
    if (type !== 'text' || !hasLines(pasted.replace(/[\r\n]+$/, ''))) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    onChange(value.slice(0, selectionStart ?? value.length) + pasted + value.slice(selectionEnd ?? value.length));
  };
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
      {rows === undefined && lines === 1 ? (
        <input {...shared} type={type} onPaste={paste} onChange={(event) => change(event.target.value)} />
      ) : (
        <textarea {...shared} rows={Math.max(rows ?? 2, lines)} onChange={(event) => change(event.target.value)} />
      )}
      <More id={`${id}-more`} hint={hint} error={error} />
    </div>
  );
}

export interface SelectFieldProps<Value extends string> extends Common {
  readonly required?: boolean;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly (NoInfer<Value> | { readonly value: NoInfer<Value>; readonly label: string })[];
}

/** A choice between a few options. */
export function SelectField<Value extends string>({
  label,
  hint,
  error,
  value,
  onChange,
  options,
  required,
}: SelectFieldProps<Value>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="input"
        value={value}
        required={required}
        aria-invalid={error !== undefined}
        aria-describedby={hint !== undefined || error !== undefined ? `${id}-more` : undefined}
        onChange={(event) => onChange(event.target.value as Value)}
      >
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

/** A checkbox. */
export function CheckField({ label, hint, error, checked, onChange }: CheckFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <span className="check">
        <input
          id={id}
          type="checkbox"
          checked={checked}
          aria-describedby={hint !== undefined || error !== undefined ? `${id}-more` : undefined}
          onChange={(event) => onChange(event.target.checked)}
        />
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

const hourMs = 3_600_000;
const spans = [
  { value: 'any', label: 'Any time' },
  { value: String(hourMs), label: 'Last hour' },
  { value: String(24 * hourMs), label: 'Last 24 hours' },
  { value: String(7 * 24 * hourMs), label: 'Last 7 days' },
  { value: String(30 * 24 * hourMs), label: 'Last 30 days' },
  { value: 'moment', label: 'Since…' },
] as const;

/**
 * The start of a period, entered as a duration before now or as a time; stored as a time, so that the page's address
 * keeps its meaning.
 */
export function SinceField({ label, value, onChange }: Pick<TextFieldProps, 'label' | 'value' | 'onChange'>) {
  const [span, setSpan] = useState<string>(value === '' ? 'any' : 'moment');
  const choose = (next: string) => {
    setSpan(next);
    if (next === 'moment') return;
    onChange(next === 'any' ? '' : new Date(Date.now() - Number(next)).toISOString());
  };
  return (
    <>
      <SelectField label={label} value={span} options={spans} onChange={choose} />
      {span === 'moment' ? <MomentField label="Since" value={value} onChange={onChange} /> : null}
    </>
  );
}

/** A time, picked in the chosen time zone and stored in UTC; empty for none. */
export function MomentField({ label, value, onChange }: Pick<TextFieldProps, 'label' | 'value' | 'onChange'>) {
  const id = useId();
  const zone = useTimeZone();
  const read = (text: string) => new Date(zone === 'utc' ? `${text}Z` : text).toISOString();
  return (
    <div className="field">
      <label htmlFor={id}>{zone === 'utc' ? `${label} (UTC)` : label}</label>
      <input
        id={id}
        type="datetime-local"
        step={1}
        className="input"
        value={writtenIn(zone, value)}
        onChange={({ target }) => onChange(target.value === '' ? '' : read(target.value))}
      />
    </div>
  );
}

/** The time in the format of the field, which has no time zone. */
function writtenIn(zone: TimeZone, instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  const offsetMs = zone === 'utc' ? 0 : at.getTimezoneOffset() * 60_000;
  return new Date(at.getTime() - offsetMs).toISOString().slice(0, 19);
}
