import { Link, useNavigate } from '@tanstack/react-router';
import { ChevronRight, Trash2 } from 'lucide-react';
import { type FormEvent, useEffect, useState } from 'react';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { Empty, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { LeasesOf } from '../leases/leases-of';
import { mountPage } from '../pages';
import { PolicyPicker } from '../policy-picker';
import { useReadable } from '../readable';
import { encodedPath, useChange, useListing, useRead } from '../reads';
import { AppRoleCredentials } from './approle-credentials';
import { type Collection, groupsOf, labelOf } from './collections';
import { CreateLink } from './create-link';
import { bodyOf, type EnginePath, type Field, filled, typedOf } from './document';
import type { Typed } from './form';
import { PlaceForm } from './place';

export interface CollectionProps {
  /** Mount path; for auth methods, below `auth/`. */
  readonly mount: string;
  readonly collection: Collection;
}

/** Lists the names of a collection, with a button that adds an item. */
export function CollectionList({ mount, collection }: CollectionProps) {
  const names = useListing(encodedPath(mount + collection.list));
  const [text, setText] = useState('');
  const info = names.data?.key_info ?? {};
  const shownFields = shownFieldsOf(Object.values(info));
  const textOf = (name: string) => [name, ...shownFields.map((field) => String(info[name]?.[field] ?? ''))].join(' ');
  const shown = (names.data?.keys ?? []).filter((name) => textOf(name).toLowerCase().includes(text.toLowerCase()));
  const to = (name: string) => mountPage({ mount, tab: collection.list, name });
  const add = (
    <CreateLink mount={mount} tab={collection.list}>
      Create {collection.one}
    </CreateLink>
  );
  if (names.error) return <ErrorNotice error={names.error} onRetry={() => void names.refetch()} />;
  if (names.data === undefined) return <Skeleton />;
  if (names.data.keys.length === 0) {
    return <Empty action={add}>No {collection.title.toLowerCase()} yet.</Empty>;
  }
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <TextField
          label={`Search ${collection.title.toLowerCase()}`}
          type="search"
          value={text}
          onChange={setText}
          placeholder="Part of a name"
        />
        {add}
      </div>
      <Table
        label={collection.title}
        rows={shown}
        keyOf={(name) => name}
        narrow="flow"
        columns={[
          { head: 'Name', cell: (name) => <Link {...to(name)}>{name}</Link>, sortBy: (name) => name },
          ...shownFields.map((field) => ({
            head: labelOf(field),
            cell: (name: string) => <FieldValue value={info[name]?.[field]} />,
            sortBy: (name: string) => String(info[name]?.[field] ?? ''),
          })),
          {
            head: '',
            className: 'tight',
            cell: () => <ChevronRight size={16} className="second" aria-hidden="true" />,
          },
        ]}
      />
    </div>
  );
}

const mostShownFields = 3;

/** Fields to show as columns: those that are not lists or objects and that at least one row has. */
function shownFieldsOf(infos: readonly Readonly<Record<string, unknown>>[]): string[] {
  const names = new Set(
    infos.flatMap((info) =>
      Object.entries(info).flatMap(([field, value]) => (value === '' || typeof value === 'object' ? [] : [field])),
    ),
  );
  return [...names].slice(0, mostShownFields);
}

function FieldValue({ value }: { readonly value: unknown }) {
  if (value === undefined || value === null || value === '') return <span className="second">–</span>;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return <Time at={value} />;
  return <span>{String(value)}</span>;
}

/** An item of a collection with its form and actions, or a new item if no name is given. */
export function CollectionRecord({ mount, collection, name }: CollectionProps & { readonly name: string | undefined }) {
  const { record, one, list, actions } = collection;
  // If true, each read of this path issues credentials with a lease.
  const issues = !mount.startsWith('auth/') && actions.some(({ pattern }) => pattern.startsWith('creds/'));
  const mayLook = useReadable([], ['sys/leases/timeline']).has('sys/leases/timeline');
  const [parameter = 'name'] = record.parameters;
  const navigate = useNavigate();
  const [newName, setNewName] = useState('');
  const [typed, setTyped] = useState<Typed>();
  const [problem, setProblem] = useState<unknown>();
  const [removing, setRemoving] = useState(false);
  const pathOf = (value: string) => `${encodedPath(mount)}${filled(record.pattern, { [parameter]: value })}`;
  const stored = useRead<Readonly<Record<string, unknown>>>(pathOf(name ?? ''), { enabled: name !== undefined });
  const fields = record.write?.fields ?? [];
  const { data } = stored;
  useEffect(() => {
    // Values typed while the request was in progress are kept.
    if (name === undefined || data !== undefined)
      setTyped((before) => before ?? (data === undefined ? {} : typedOf(fields, data)));
  }, [name, data, fields]);
  const save = useChange(() => {
    if (name === undefined) void navigate(mountPage({ mount, tab: list, name: newName }));
  });
  const remove = useChange(() => void navigate(mountPage({ mount, tab: list })));
  const send = (event: FormEvent) => {
    event.preventDefault();
    setProblem(undefined);
    try {
      save.mutate({ method: 'POST', path: pathOf(name ?? newName), body: bodyOf(fields, typed ?? {}) });
    } catch (error) {
      setProblem(error);
    }
  };
  const { basics, advanced } = groupsOf(fields);
  const shared = { typed: typed ?? {}, ofMethod: mount.startsWith('auth/'), onChange: setTyped };
  if (stored.error) return <ErrorNotice error={stored.error} onRetry={() => void stored.refetch()} />;
  if (typed === undefined) return <Skeleton rows={6} />;
  return (
    <div className="stack">
      {name !== undefined && record.pattern === 'role/{role_name}' ? (
        <AppRoleCredentials mount={mount} role={name} />
      ) : null}
      <form className="form" onSubmit={send}>
        {name === undefined ? (
          <TextField label={labelOf(parameter)} required autoFocus value={newName} onChange={setNewName} />
        ) : null}
        <RecordFields fields={basics} {...shared} />
        {advanced.map(({ title, fields: own }) => (
          <details key={title} className="advanced">
            <summary>{title === 'More' ? 'Advanced' : title}</summary>
            <div className="stack">
              <RecordFields fields={own} {...shared} />
            </div>
          </details>
        ))}
        <ErrorNotice error={problem ?? save.error ?? remove.error} />
        {save.isSuccess && name !== undefined ? <Notice tone="green">Saved.</Notice> : null}
        <div className="row">
          <Button type="submit" kind="primary" busy={save.isPending}>
            {name === undefined ? `Create ${one}` : 'Save'}
          </Button>
          {name === undefined ? (
            <Link className="button" {...mountPage({ mount, tab: list })}>
              Cancel
            </Link>
          ) : record.remove === undefined ? null : (
            <Button kind="danger" icon={Trash2} onClick={() => setRemoving(true)}>
              Delete
            </Button>
          )}
        </div>
      </form>
      {name === undefined ? null : <Actions mount={mount} actions={actions} collection={collection} name={name} />}
      {name === undefined || !issues || !mayLook ? null : (
        <LeasesOf
          title="Credentials in use"
          of={{ prefix: `${mount}creds/${name}` }}
          none="No credentials of this role are in use."
        />
      )}
      {removing ? (
        <Confirm
          title={`Delete ${one} ${name}?`}
          action={`Delete ${one}`}
          danger
          busy={remove.isPending}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            remove.mutate({ method: 'DELETE', path: pathOf(name ?? '') }, { onSettled: () => setRemoving(false) })
          }
        >
          <p>{record.remove?.summary}</p>
        </Confirm>
      ) : null}
    </div>
  );
}

const verbsOfPattern: ReadonlyMap<string, string> = new Map(
  Object.entries({
    creds: 'Generate credentials',
    'static-creds': 'Show credentials',
    'static-cred': 'Show credentials',
    issue: 'Issue certificate',
    sign: 'Sign',
    sts: 'Generate session credentials',
    reset: 'Reset connections',
    'rotate-root': 'Rotate root credentials',
    'rotate-role': 'Rotate credentials',
    code: 'Generate or check a code',
  }),
);

function Actions({
  mount,
  actions,
  collection,
  name,
}: CollectionProps & { readonly actions: readonly EnginePath[]; readonly name: string }) {
  const shown = actions.filter(({ pattern }) => !/secret-id|role-id|\/(password|policies)$/.test(pattern));
  if (shown.length === 0) return null;
  return (
    <section className="stack-tight" aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
      {shown.map((place) => {
        const rest = place.pattern.startsWith(collection.record.pattern)
          ? place.pattern.slice(collection.record.pattern.length + 1)
          : place.pattern.split('/')[0]!;
        return (
          <details key={place.pattern} className="panel">
            <summary>{verbsOfPattern.get(rest) ?? labelOf(rest)}</summary>
            <PlaceForm mount={mount} place={place} named={{ [place.parameters[0]!]: name }} listed={undefined} isPart />
          </details>
        );
      })}
    </section>
  );
}

/** Fields with readable labels, and pickers for existing objects. */
function RecordFields({
  fields,
  typed,
  ofMethod,
  onChange,
}: {
  readonly fields: readonly Field[];
  readonly typed: Typed;
  /** Whether the record belongs to an auth method. Only there, policies are policies of this service. */
  readonly ofMethod: boolean;
  readonly onChange: (typed: Typed) => void;
}) {
  return fields.map((field) => {
    const { name, kind, description, required, choices, fallback } = field;
    const value = typed[name] ?? '';
    const change = (text: string) => onChange({ ...typed, [name]: text });
    const shared = { label: labelOf(name), hint: description, value, onChange: change };
    const usual = fallback === undefined || fallback === '' || typeof fallback === 'object' ? '' : String(fallback);
    if (ofMethod && kind === 'list' && /^(token_|identity_)?policies$/.test(name)) {
      const chosen = value.split(',').flatMap((one) => one.trim() || []);
      return (
        <PolicyPicker
          key={name}
          label={labelOf(name)}
          hint={description}
          chosen={chosen}
          onChange={(next) => change(next.join(','))}
        />
      );
    }
    if (kind === 'choice' || kind === 'yes-no') {
      const options = kind === 'choice' ? choices : ['yes', 'no'];
      const none = usual === '' ? 'Default' : `Default (${usual.replace(/^true$/, 'yes').replace(/^false$/, 'no')})`;
      return <SelectField key={name} {...shared} options={[{ value: '', label: none }, ...options]} />;
    }
    if (kind === 'json') return <TextField key={name} {...shared} rows={4} required={required} placeholder="{ }" />;
    const isLong = /certificate|_pem|key_pem|statements|ca_cert|rules|template/.test(name);
    return (
      <TextField
        key={name}
        {...shared}
        required={required}
        masked={kind === 'secret' && !isLong}
        type={kind === 'number' ? 'number' : 'text'}
        hint={kind === 'list' ? `${description} Comma-separated.` : description}
        {...(usual === '' ? {} : { placeholder: usual })}
        {...(isLong ? { rows: 5 } : {})}
      />
    );
  });
}
