import { exactJson, parseExact } from '@keystead/envelope';
import { Plus, X } from 'lucide-react';
import { useId, useRef, useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { IconButton } from '../../design/tip';
import { fieldsIn, objectOf } from './fields-in-file';
import type { Fields } from './values';
import { textOf } from './values';

/** A field being edited. */
export interface FieldRow {
  readonly id: number;
  readonly name: string;
  readonly value: string;
  /** The original value, if it is not a string. It is kept unless the user edits the field. */
  readonly was?: unknown;
}

const emptyRow = (besides: readonly FieldRow[]): FieldRow => ({
  id: 1 + Math.max(0, ...besides.map(({ id }) => id)),
  name: '',
  value: '',
});

/** Fields as rows, with an empty one if there are none. */
export function rowsOf(fields: Fields): FieldRow[] {
  const rows = Object.entries(fields).map(([name, value], id) => ({ id, name, value: textOf(value), was: value }));
  return rows.length === 0 ? [emptyRow(rows)] : rows;
}

/**
 * Rows as fields, without unnamed rows. A value that was not a string keeps its type if it is unchanged, or if the new
 * value is also JSON.
 */
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

/** Duplicate field names. */
export const repeated = (rows: readonly FieldRow[]): string | undefined =>
  rows.find(({ name }, index) => name !== '' && rows.findIndex((row) => row.name === name) !== index)?.name;

/** The fields of a secret, one row each. Values are masked unless shown. */
export function FieldEditor({
  rows,
  onChange,
}: {
  readonly rows: readonly FieldRow[];
  readonly onChange: (rows: readonly FieldRow[]) => void;
}) {
  const [shown, setShown] = useState(false);
  const [isJson, setJson] = useState(false);
  const [problem, setProblem] = useState<string>();
  // The ids of the initial fields. A field that is added later gets the focus.
  const [initialIds] = useState(() => new Set(rows.map(({ id }) => id)));
  const file = useRef<HTMLInputElement>(null);
  const take = async (chosen: File | undefined) => {
    if (chosen === undefined) return;
    const fields = fieldsIn(await chosen.text());
    setProblem(fields === undefined ? `${chosen.name} is neither a JSON object nor lines of NAME=value.` : undefined);
    if (fields !== undefined) onChange(rowsOf({ ...fieldsOf(rows), ...fields }));
  };
  const change = (id: number, change: Partial<FieldRow>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row)));
  return (
    <fieldset className="fields">
      <legend className="row spread">
        <span className="strong">Fields</span>
        <span className="row">
          {isJson ? null : (
            <Button small kind="quiet" onClick={() => setShown(!shown)}>
              {shown ? 'Hide values' : 'Show values'}
            </Button>
          )}
          {isJson ? null : (
            <Button small kind="quiet" onClick={() => file.current?.click()}>
              Import file
            </Button>
          )}
          <Button small kind="quiet" onClick={() => setJson(!isJson)}>
            {isJson ? 'Edit fields' : 'Edit as JSON'}
          </Button>
        </span>
      </legend>
      <input
        ref={file}
        type="file"
        hidden
        aria-label="File with fields"
        accept=".json,.env,.txt,application/json,text/plain"
        onChange={({ target }) => {
          void take(target.files?.[0]);
          target.value = '';
        }}
      />
      {problem === undefined ? null : <ErrorNotice error={problem} />}
      {isJson ? <JsonEditor rows={rows} onChange={onChange} /> : null}
      {isJson
        ? null
        : rows.map((row, index) => (
            <div key={row.id} className="field-row">
              <TextField
                label="Name"
                value={row.name}
                onChange={(name) => change(row.id, { name })}
                autoFocus={!initialIds.has(row.id)}
              />
              <TextField
                label="Value"
                masked={!shown}
                rows={1}
                autoFocus={index === 0 && initialIds.has(row.id) && row.name !== ''}
                value={row.value}
                onChange={(value) => change(row.id, { value })}
              />
              <IconButton
                icon={X}
                name={`Remove field ${row.name}`}
                onClick={() => onChange(rows.length === 1 ? [emptyRow(rows)] : rows.filter(({ id }) => id !== row.id))}
              />
            </div>
          ))}
      {isJson ? null : (
        <div>
          <Button small icon={Plus} onClick={() => onChange([...rows, emptyRow(rows)])}>
            Add field
          </Button>
        </div>
      )}
    </fieldset>
  );
}

const noObject = 'This is not a JSON object.';

/** All fields as JSON; the form cannot be submitted unless it is an object. */
function JsonEditor({
  rows,
  onChange,
}: {
  readonly rows: readonly FieldRow[];
  readonly onChange: (rows: readonly FieldRow[]) => void;
}) {
  const id = useId();
  const [text, setText] = useState(() => exactJson(fieldsOf(rows), 2));
  const [isWrong, setWrong] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (next: string) => {
    setText(next);
    const fields = objectOf(next);
    setWrong(fields === undefined);
    field.current?.setCustomValidity(fields === undefined ? noObject : '');
    if (fields !== undefined) onChange(rowsOf(fields));
  };
  return (
    <div className="field">
      <label htmlFor={id}>Fields as JSON</label>
      <textarea
        id={id}
        ref={field}
        className="input"
        rows={10}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={isWrong}
        aria-describedby={`${id}-more`}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
      <span id={`${id}-more`} className={isWrong ? 'small removed' : 'small second'}>
        {isWrong ? noObject : 'Values may be strings, numbers, lists and objects.'}
      </span>
    </div>
  );
}
