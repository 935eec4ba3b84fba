import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Notice } from '../../design/notice';
import { useMay } from '../may';
import { mountPage } from '../pages';
import { encodedPath, useChange, useList } from '../reads';
import { type FieldRow, RowField } from './field-rows';

/** A record as the API reads and writes it. */
export type FormRecord = Readonly<Record<string, unknown>>;

interface RowGroup {
  /** If set, the fields are collapsed under this title; otherwise they are always shown. */
  readonly title?: string;
  readonly rows: readonly FieldRow[];
}

/** A record to show in a form of its engine. */
export interface FormOf {
  readonly mount: string;
  /** The name of the record; undefined for a new record. */
  readonly name: string | undefined;
  readonly stored: FormRecord;
}

/**
 * The settings of a record, or of a new record if no name is given, by rows of fields. Only what was changed is sent.
 */
export function RecordForm({
  mount,
  tab,
  list = tab,
  name,
  stored,
  groups,
  isWhole = false,
  one,
  nameHint,
  unsent = [],
  trial,
  children,
}: FormOf & {
  readonly tab: string;
  /** The path of the list, if it is not the name of the tab. */
  readonly list?: string;
  readonly groups: (record: FormRecord) => readonly RowGroup[];
  /** Whether a write replaces the whole record, so that all fields must be sent. */
  readonly isWhole?: boolean;
  /** The noun for a record, on the button that creates one. */
  readonly one: string;
  /** An example of a name. */
  readonly nameHint?: string;
  /** Fields that exist only in the form and are not sent. */
  readonly unsent?: readonly string[];
  /** A button that tests the typed values without storing them. */
  readonly trial?: { readonly action: string; readonly sent: FormRecord; readonly worked: string };
  readonly children?: (record: FormRecord) => ReactNode;
}) {
  const [record, setRecord] = useState(stored);
  const [newName, setNewName] = useState('');
  const [missing, setMissing] = useState<string>();
  const to = name ?? newName.trim();
  const path = `${mount}${list}/${to}`;
  const names = useList(`${encodedPath(mount)}${list}`);
  const isTaken = name === undefined && (names.data ?? []).includes(to);
  const may = useMay(name === undefined ? [] : [path]);
  const navigate = useNavigate();
  const change = useChange(() => {
    setRecord(withoutSecrets(groups(record), record));
    if (name === undefined) void navigate(mountPage({ mount, tab, name: to }));
  });
  const attempt = useChange();
  const shown = groups(record);
  const wrong = wrongField(change.error, shown);
  const changed = Object.entries(record).filter(
    ([field, value]) => value !== stored[field] && !(value === '' && stored[field] === undefined),
  );
  const sent = isWhole || name === undefined ? Object.entries(record) : changed;
  const body = () =>
    Object.fromEntries(
      sent.filter(([field]) => !unsent.includes(field)).flatMap(([field, value]) => sentEntries(field, value)),
    );
  const pathOf = (one: string) => `${encodedPath(mount)}${list}/${encodeURIComponent(one)}`;
  const send = () => {
    attempt.reset();
    if (isTaken) return;
    const empty = shown
      .flatMap(({ rows }) => rows)
      .find(({ name: field, as, required }) => as === 'statements' && required && isEmpty(record[field]));
    setMissing(empty?.name);
    if (empty !== undefined) return;
    change.mutate({ method: 'POST', path: pathOf(to), body: body() });
  };
  const fieldOf = (row: FieldRow) => (
    <RowField
      key={row.name}
      row={row}
      value={record[row.name]}
      error={
        wrong?.field === row.name
          ? wrong.message
          : missing === row.name && isEmpty(record[row.name])
            ? 'Enter at least one statement.'
            : undefined
      }
      onChange={(value) => {
        if (!change.isIdle) change.reset();
        if (!attempt.isIdle) attempt.reset();
        setRecord((before) => ({ ...before, [row.name]: value, ...row.also?.(value) }));
      }}
    />
  );
  return (
    <Form
      action={name === undefined ? `Create ${one}` : 'Save'}
      change={{ isPending: change.isPending, error: wrong === undefined ? change.error : null }}
      {...(name === undefined ? {} : may({ path, capabilities: ['update'] }))}
      onSend={send}
      extra={
        trial === undefined ? null : (
          <Button
            busy={attempt.isPending}
            onClick={() =>
              attempt.mutate({ method: 'POST', path: pathOf(to || 'new'), body: { ...body(), ...trial.sent } })
            }
          >
            {trial.action}
          </Button>
        )
      }
    >
      {name === undefined ? (
        <TextField
          label="Name"
          required
          autoFocus
          value={newName}
          onChange={setNewName}
          {...(nameHint === undefined ? {} : { placeholder: nameHint })}
          error={isTaken ? `The name ${to} is taken.` : undefined}
        />
      ) : null}
      {shown.map(({ title, rows }) =>
        title === undefined ? (
          rows.map(fieldOf)
        ) : (
          <details key={title} className="advanced" open={rows.some(({ name }) => name === wrong?.field) || undefined}>
            <summary>{title}</summary>
            <div className="stack">{rows.map(fieldOf)}</div>
          </details>
        ),
      )}
      {children?.(record)}
      <ErrorNotice error={attempt.error} />
      {trial !== undefined && attempt.isSuccess ? <Notice tone="green">{trial.worked}</Notice> : null}
      {change.isSuccess && name !== undefined ? <Notice tone="green">Saved.</Notice> : null}
    </Form>
  );
}

const isEmpty = (statements: unknown) => !Array.isArray(statements) || statements.every((one) => one === '');

/** The value to send for a field: nothing if the field is empty. Empty statements are left out. */
function sentEntries(field: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (value === undefined) return [];
  return [[field, Array.isArray(value) ? value.filter((one) => one !== '') : value]];
}

/** A record without its secrets, which the page drops after they have been stored. */
function withoutSecrets(groups: readonly RowGroup[], record: FormRecord): FormRecord {
  const secrets = groups.flatMap(({ rows }) => rows.filter(({ as }) => as === 'secret').map(({ name }) => name));
  return Object.fromEntries(Object.entries(record).filter(([field]) => !secrets.includes(field)));
}

/** The field in an error message; undefined if the message names no visible field. */
function wrongField(error: unknown, groups: readonly RowGroup[]) {
  if (!(error instanceof ApiError) || error.status !== 400) return undefined;
  const names = groups.flatMap(({ rows }) => rows.map(({ name }) => name)).sort((a, b) => b.length - a.length);
  const field = names.find((name) => new RegExp(`\\b${name}\\b`).test(error.message));
  return field === undefined ? undefined : { field, message: error.message };
}
