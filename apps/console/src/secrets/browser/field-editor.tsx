import { parseExact } from '@keystead/envelope';
import { useState } from 'react';
import { Button } from '../../design/button';
import { TextField } from '../../design/field';
import type { Fields } from './values';
import { textOf } from './values';

/** One field as it is edited. */
export interface FieldRow {
  readonly id: number;
  readonly name: string;
  readonly value: string;
  /** What it was, where that is no text: it stays so unless it is changed. */
  readonly was?: unknown;
}

const emptyRow = (besides: readonly FieldRow[]): FieldRow => ({
  id: 1 + Math.max(0, ...besides.map(({ id }) => id)),
  name: '',
  value: '',
});

/** Fields as rows, with an empty one where there are none. */
export function rowsOf(fields: Fields): FieldRow[] {
  const rows = Object.entries(fields).map(([name, value], id) => ({ id, name, value: textOf(value), was: value }));
  return rows.length === 0 ? [emptyRow(rows)] : rows;
}

/** Rows as fields; those without a name are left out. What was no text and is unchanged, or still is JSON, stays so. */
export function fieldsOf(rows: readonly FieldRow[]): Fields {
  const named = rows.filter(({ name }) => name !== '');
  return Object.fromEntries(
    named.map(({ name, value, was }) => {
      if (was === undefined || typeof was === 'string') return [name, value];
      if (textOf(was) === value) return [name, was];
      try {
        return [name, parseExact(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}

/** The names that two rows have. */
export const repeated = (rows: readonly FieldRow[]): string | undefined =>
  rows.find(({ name }, index) => name !== '' && rows.findIndex((row) => row.name === name) !== index)?.name;

/** The fields of a secret, a row each. Values are dots unless they are shown. */
export function FieldEditor({
  rows,
  onChange,
}: {
  readonly rows: readonly FieldRow[];
  readonly onChange: (rows: readonly FieldRow[]) => void;
}) {
  const [shown, setShown] = useState(false);
  const change = (id: number, change: Partial<FieldRow>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row)));
  return (
    <fieldset className="fields">
      <legend className="row spread">
        <span className="strong">Fields</span>
        <Button small kind="quiet" onClick={() => setShown(!shown)}>
          {shown ? 'Hide values' : 'Show values'}
        </Button>
      </legend>
      {rows.map((row, index) => (
        <div key={row.id} className="field-row">
          <TextField
            label="Name"
            value={row.name}
            onChange={(name) => change(row.id, { name })}
            autoFocus={index > 0}
          />
          <TextField
            label="Value"
            masked={!shown}
            rows={1}
            value={row.value}
            onChange={(value) => change(row.id, { value })}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove field ${row.name}`}
            onClick={() => onChange(rows.length === 1 ? [emptyRow(rows)] : rows.filter(({ id }) => id !== row.id))}
          >
            <span aria-hidden="true">✕</span>
          </button>
        </div>
      ))}
      <div>
        <Button small onClick={() => onChange([...rows, emptyRow(rows)])}>
          Add a field
        </Button>
      </div>
    </fieldset>
  );
}
