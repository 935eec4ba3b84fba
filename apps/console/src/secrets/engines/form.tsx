import { SelectField, TextField } from '../../design/field';
import type { Field } from './document';

export type Typed = Readonly<Record<string, string>>;

/** A form generated from the OpenAPI document, so that every engine has a form. */
export function GeneratedFields({
  fields,
  typed,
  onChange,
}: {
  readonly fields: readonly Field[];
  readonly typed: Typed;
  readonly onChange: (typed: Typed) => void;
}) {
  return fields.map((field) => (
    <GeneratedField
      key={field.name}
      field={field}
      value={typed[field.name] ?? ''}
      onChange={(value) => onChange({ ...typed, [field.name]: value })}
    />
  ));
}

function GeneratedField({
  field,
  value,
  onChange,
}: {
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { name, kind, description, required, choices, fallback } = field;
  const usual =
    fallback === undefined || fallback === '' || typeof fallback === 'object' ? {} : { placeholder: String(fallback) };
  const shared = { label: name, hint: description, value, onChange };
  if (kind === 'choice' || kind === 'yes-no') {
    const options = kind === 'choice' ? choices : ['yes', 'no'];
    return <SelectField {...shared} options={[{ value: '', label: 'as it is' }, ...options]} />;
  }
  if (kind === 'number') return <TextField {...shared} {...usual} type="number" required={required} />;
  if (kind === 'json') return <TextField {...shared} rows={4} required={required} placeholder="{ }" />;
  if (kind === 'list') {
    return <TextField {...shared} {...usual} required={required} hint={`${description} Comma-separated.`} />;
  }
  return (
    <TextField
      {...shared}
      {...usual}
      required={required}
      masked={kind === 'secret'}
      {...(value.includes('\n') ? { rows: 6 } : {})}
    />
  );
}
