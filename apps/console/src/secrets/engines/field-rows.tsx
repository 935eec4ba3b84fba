import { CheckField, SelectField, TextField } from '../../design/field';
import { PickerField, type PickerOption } from '../../design/picker';
import { StatementsField } from './statements-field';
import { secondsOf, type TtlChoice, TtlField } from './ttl-field';

/** A field of a record: its label and the kind of its value. */
export interface FieldRow {
  readonly name: string;
  readonly label: string;
  /**
   * The kind of the value. `names`: a list. `listed`: a list, which the API takes as a string with commas. `pairs`: an
   * object. `secret`: a value that is never shown.
   */
  readonly as?:
    | 'text'
    | 'secret'
    | 'lines'
    | 'number'
    | 'check'
    | 'choice'
    | 'ttl'
    | 'names'
    | 'listed'
    | 'pairs'
    | 'statements';
  readonly hint?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly options?: readonly (string | PickerOption)[];
  readonly ttls?: readonly TtlChoice[];
  /** Suggested statements, offered while the list is empty. */
  readonly usual?: readonly string[];
  /** Other fields that must change when this value changes. */
  readonly also?: (value: unknown) => Readonly<Record<string, unknown>>;
}

const hourSeconds = 3600;
const usualTtls: readonly TtlChoice[] = [
  ['0', 'Mount default'],
  ['1800', '30 minutes'],
  [String(hourSeconds), '1 hour'],
  [String(8 * hourSeconds), '8 hours'],
  [String(24 * hourSeconds), '1 day'],
  [String(7 * 24 * hourSeconds), '7 days'],
];

const namesOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const splitAt = (text: unknown): readonly string[] =>
  String(text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** An object as names with values: `env=prod`; a name without a value has no equals sign. */
const pairsOf = (value: unknown): readonly string[] =>
  Object.entries(Object(value) as Record<string, unknown>).map(([name, text]) =>
    text === '' ? name : `${name}=${String(text)}`,
  );
const fromPairs = (pairs: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? [pair, ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );

/** The field of a row. */
export function RowField({
  row,
  value,
  onChange,
  error,
}: {
  readonly row: FieldRow;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}) {
  const { label, as = 'text', hint, placeholder, required = false, options = [], ttls = usualTtls } = row;
  const shared = { label, error, ...(hint === undefined ? {} : { hint }) };
  if (as === 'check') return <CheckField {...shared} checked={value === true} onChange={onChange} />;
  if (as === 'choice') {
    return (
      <SelectField {...shared} required={required} value={String(value ?? '')} onChange={onChange} options={options} />
    );
  }
  if (as === 'ttl') {
    return (
      <TtlField
        {...shared}
        choices={ttls}
        value={String(value ?? 0)}
        onChange={(text) => onChange(secondsOf(text) ?? text)}
      />
    );
  }
  if (as === 'names' || as === 'listed' || as === 'pairs') {
    const [chosen, changed] =
      as === 'names'
        ? [namesOf(value), (next: readonly string[]) => onChange(next)]
        : as === 'listed'
          ? [splitAt(value), (next: readonly string[]) => onChange(next.join(','))]
          : [pairsOf(value), (next: readonly string[]) => onChange(fromPairs(next))];
    return (
      <PickerField
        label={label}
        hint={error === undefined ? hint : <span className="removed">{error}</span>}
        options={options.map((one) => (typeof one === 'string' ? { value: one, label: one } : one))}
        chosen={chosen}
        onChange={changed}
        free
        {...(placeholder === undefined ? {} : { placeholder })}
      />
    );
  }
  if (as === 'statements') {
    return <StatementsField {...shared} statements={namesOf(value)} onChange={onChange} usual={row.usual ?? []} />;
  }
  return (
    <TextField
      {...shared}
      value={String(value ?? '')}
      onChange={(text) => onChange(as === 'number' ? (text === '' ? undefined : Number(text)) : text)}
      required={required}
      masked={as === 'secret'}
      {...(as === 'number' ? { type: 'number' as const } : {})}
      {...(as === 'lines' ? { rows: 6 } : {})}
      {...(placeholder === undefined ? {} : { placeholder })}
    />
  );
}
