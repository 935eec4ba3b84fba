import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from '../../design/button';
import { MomentField, SelectField, SinceField, TextField } from '../../design/field';
import { Tabs } from '../../design/page';
import { PickerField } from '../../design/picker';
import { page } from '../pages';
import { useListing } from '../reads';
import type { AuditFilter } from './search';

/** The tabs of the audit pages: changes and reads. */
export const AuditTabs = () => (
  <Tabs
    label="Audit"
    tabs={[
      { to: '/audit', label: 'Changes', exact: true },
      { to: '/audit/reads', label: 'Reads' },
    ]}
  />
);

/** The caller who made a request, by the name in its audit line. */
export function Author({
  auth,
}: {
  readonly auth: { readonly display_name?: string; readonly entity_id?: string } | undefined;
}) {
  if (auth?.display_name === undefined) return <span className="second">no token</span>;
  if (!auth.entity_id) return auth.display_name;
  return <Link {...page('/access/entities', { id: auth.entity_id })}>{auth.display_name}</Link>;
}

/** A field for an entity name. The search uses the id of the entity. */
function EntityField({ value, onChange }: { readonly value: string; readonly onChange: (id: string) => void }) {
  const entities = useListing<{ readonly name: string }>('identity/entity/id');
  const options = (entities.data?.keys ?? []).map((id) => ({
    value: id,
    label: entities.data?.key_info?.[id]?.name ?? id,
  }));
  return (
    <PickerField
      label="Who"
      free
      options={options}
      chosen={value === '' ? [] : [value]}
      onChange={(chosen) => onChange(chosen.at(-1) ?? '')}
      placeholder="An entity"
    />
  );
}

/** The operations in the table of changes. Reads are in it only if they issued something. */
const operations = [
  { value: '', label: 'Any' },
  ...['create', 'update', 'patch', 'delete'].map((value) => ({ value, label: value })),
  { value: 'read', label: 'read that issued a credential' },
];
/** The number of filters that are always visible. */
const few = 4;

type Texts = Readonly<Partial<Record<AuditFilter, string>>>;

/** The fields of a search, and its buttons. */
export function SearchForm<S extends Texts>({
  filters,
  search,
  onSearch,
  children,
}: {
  readonly filters: readonly (readonly [AuditFilter, label: string])[];
  readonly search: S;
  readonly onSearch: (search: S) => void;
  /** Additional content below the fields, depending on their values. */
  readonly children?: (draft: S) => ReactNode;
}) {
  const [draft, setDraft] = useState<S>(search);
  const address = JSON.stringify(search);
  const [shown, setShown] = useState(address);
  // The user has followed a link to another search.
  if (shown !== address) {
    setShown(address);
    setDraft(search);
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSearch(Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== '')) as S);
  };
  const field = ([name, label]: readonly [AuditFilter, string]) => {
    const value = draft[name] ?? '';
    const onChange = (next: string) => setDraft((before) => ({ ...before, [name]: next }));
    const shared = { label, value, onChange };
    if (name === 'since') return <SinceField key={name} {...shared} />;
    if (name === 'until') return <MomentField key={name} {...shared} />;
    if (name === 'entity_id') return <EntityField key={name} {...shared} />;
    if (name === 'operation') return <SelectField key={name} {...shared} options={operations} />;
    return <TextField key={name} {...shared} type={name === 'path' ? 'search' : 'text'} />;
  };
  const more = filters.slice(few);
  return (
    <form className="stack-tight" onSubmit={submit}>
      <div className="filters">{filters.slice(0, few).map(field)}</div>
      {more.length === 0 ? null : (
        <details open={more.some(([name]) => search[name] !== undefined)}>
          <summary className="second small">More to search by</summary>
          <div className="filters">{more.map(field)}</div>
        </details>
      )}
      {children?.(draft)}
      <div className="row">
        <Button type="submit" kind="primary">
          Search
        </Button>
        {Object.keys(search).length === 0 ? null : <Button onClick={() => onSearch({} as S)}>Everything</Button>}
      </div>
    </form>
  );
}
