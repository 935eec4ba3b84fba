import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { organizationCrumbs } from '../api';
import { document, type Item, needs, type Permissions, refsOf } from '../data/documents';
import { useMany, useOne, useSend } from '../data/use-api';
import { FormDialog, faultOf, Opener } from '../parts/form';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { mayIn, useOrganization } from '../workspace/use-organization';
import { type VariableAttributes, VariableDialog } from '../workspace/variable-dialog';

interface VariableSet {
  readonly name: string;
  readonly description: string;
  readonly global: boolean;
  readonly priority: boolean;
  readonly 'var-count': number;
  readonly 'workspace-count': number;
  readonly 'project-count': number;
  readonly permissions: Permissions;
}

const reach = ({ global, 'workspace-count': workspaces, 'project-count': projects }: VariableSet): string =>
  global ? 'every workspace' : `${workspaces} workspaces, ${projects} projects`;

/** The variable sets of an organization. */
export function VariableSets() {
  const { org, path, organization } = useOrganization();
  const { data, error, refetch } = useMany<VariableSet>(`${path}/varsets?page[size]=100`);
  return (
    <div className="stack">
      <PageHead
        title="Variable sets"
        crumbs={organizationCrumbs(org, { label: 'Variable sets' })}
        actions={
          <Opener label="New variable set" kind="primary" forbidden={mayIn(organization, 'can-manage-varsets')}>
            {(close) => <SetDialog path={`${path}/varsets`} org={org} onClose={close} />}
          </Opener>
        }
      />
      <ResourceTable
        label="Variable sets"
        rows={data?.data}
        error={error}
        onRetry={() => void refetch()}
        empty={<Empty>A variable set gives the same variables to many workspaces.</Empty>}
        columns={[
          {
            head: 'Set',
            cell: ({ id, attributes: { name, description, priority } }) => (
              <div className="stack-none">
                <span className="row">
                  <Link to={`/organizations/${org}/varsets/${id}`}>{name}</Link>
                  {priority ? <Badge tone="amber">priority</Badge> : null}
                </span>
                {description ? <span className="second small">{description}</span> : null}
              </div>
            ),
          },
          { head: 'Variables', className: 'number', cell: ({ attributes }) => attributes['var-count'] },
          { head: 'Reaches', cell: ({ attributes }) => reach(attributes) },
        ]}
      />
      <SameBy api={`GET /api/v2/${path}/varsets`} />
    </div>
  );
}

function SetDialog({
  path,
  org,
  set,
  onClose,
}: {
  readonly path: string;
  readonly org: string;
  readonly set?: Item<VariableSet>;
  readonly onClose: () => void;
}) {
  const was = set?.attributes;
  const navigate = useNavigate();
  const [name, setName] = useState(was?.name ?? '');
  const [description, setDescription] = useState(was?.description ?? '');
  const [global, setGlobal] = useState(was?.global ?? false);
  const [priority, setPriority] = useState(was?.priority ?? false);
  const save = useSend(
    () => ({
      method: set === undefined ? 'POST' : 'PATCH',
      path,
      body: document('varsets', { name, description, global, priority }),
    }),
    ({ data }) => {
      onClose();
      if (set === undefined) void navigate({ to: `/organizations/${org}/varsets/${data.id}` });
    },
  );
  return (
    <FormDialog
      title={set === undefined ? 'New variable set' : 'Change variable set'}
      action="Save variable set"
      busy={save.busy}
      error={save.error}
      onClose={onClose}
      onSubmit={() => save.run()}
    >
      <TextField label="Name" value={name} onChange={setName} required autoFocus error={faultOf(save.error, 'name')} />
      <TextField label="Description" value={description} onChange={setDescription} />
      <CheckField label="Global: it reaches every workspace" checked={global} onChange={setGlobal} />
      <CheckField
        label="Priority: it wins over what is nearer to the workspace"
        checked={priority}
        onChange={setPriority}
      />
    </FormDialog>
  );
}

/** One set: its variables, and what it reaches. */
export function VariableSetPage() {
  const { org, path: organization } = useOrganization();
  const { set: id = '' } = useParams({ strict: false }) as { set?: string };
  const navigate = useNavigate();
  const { data, error } = useOne<VariableSet>(`varsets/${id}`);
  const path = `varsets/${id}/relationships/vars`;
  const variables = useMany<VariableAttributes>(path);
  const set = data?.data;
  const rule = needs(set?.attributes.permissions, 'can-update', org);
  return (
    <div className="stack">
      <PageHead
        title={set?.attributes.name ?? 'Variable set'}
        crumbs={organizationCrumbs(
          org,
          { label: 'Variable sets', to: `/organizations/${org}/varsets` },
          { label: set?.attributes.name ?? '' },
        )}
        state={set?.attributes.priority ? <Badge tone="amber">priority</Badge> : undefined}
        actions={
          set === undefined ? undefined : (
            <>
              <RemoveButton
                small={false}
                label="Delete set"
                title={`Delete ${set.attributes.name}?`}
                name={set.attributes.name}
                path={`varsets/${id}`}
                forbidden={rule}
                after={() => void navigate({ to: `/organizations/${org}/varsets` })}
              />
              <Opener label="Change" forbidden={rule}>
                {(close) => <SetDialog path={`varsets/${id}`} org={org} set={set} onClose={close} />}
              </Opener>
              <Opener label="New variable" kind="primary" forbidden={rule}>
                {(close) => <VariableDialog path={path} onClose={close} />}
              </Opener>
            </>
          )
        }
      />
      <ErrorNotice error={error} />
      {set === undefined ? (
        error === null ? (
          <Skeleton />
        ) : null
      ) : (
        <p className="second">Reaches {reach(set.attributes)}.</p>
      )}
      <ResourceTable
        label="Variables of the set"
        rows={variables.data?.data}
        error={variables.error}
        empty={<Empty>The set has no variables yet.</Empty>}
        columns={[
          { head: 'Key', cell: ({ attributes }) => <code>{attributes.key}</code> },
          { head: 'Category', className: 'tight', cell: ({ attributes }) => attributes.category },
          {
            head: 'Value',
            cell: ({ attributes: { sensitive, value } }) =>
              sensitive ? <Badge tone="violet">sensitive</Badge> : <code className="clipped">{value}</code>,
          },
          {
            head: '',
            className: 'tight',
            cell: (variable) => (
              <span className="row">
                <Opener label="Change" small forbidden={rule}>
                  {(close) => <VariableDialog path={path} variable={variable} onClose={close} />}
                </Opener>
                <RemoveButton
                  label="Delete"
                  title={`Delete ${variable.attributes.key}?`}
                  path={`${path}/${variable.id}`}
                  forbidden={rule}
                />
              </span>
            ),
          },
        ]}
      />
      {set === undefined || set.attributes.global ? null : (
        <>
          <Reach set={set} kind="workspaces" from={`${organization}/workspaces?page[size]=100`} rule={rule} />
          <Reach set={set} kind="projects" from={`${organization}/projects?page[size]=100`} rule={rule} />
        </>
      )}
      <SameBy api={`GET /api/v2/varsets/${id}`} />
    </div>
  );
}

function Reach({
  set,
  kind,
  from,
  rule,
}: {
  readonly set: Item<VariableSet>;
  readonly kind: 'workspaces' | 'projects';
  readonly from: string;
  readonly rule: string | undefined;
}) {
  const all = useMany<{ name: string }>(from);
  const [chosen, setChosen] = useState('');
  const path = `varsets/${set.id}/relationships/${kind}`;
  const add = useSend(
    () => ({ method: 'POST', path, body: { data: [{ type: kind, id: chosen }] } }),
    () => setChosen(''),
  );
  const assigned = refsOf(set, kind);
  const nameOf = (id: string) => all.data?.data.find((one) => one.id === id)?.attributes.name ?? id;
  const others = (all.data?.data ?? []).filter(({ id }) => !assigned.some((one) => one.id === id));
  return (
    <section className="stack-tight">
      <h2>Given to {kind}</h2>
      {assigned.length === 0 ? <p className="second">To none.</p> : null}
      {assigned.length === 0 ? null : (
        <ul className="list">
          {assigned.map(({ id }) => (
            <li key={id} className="spread">
              <span>{nameOf(id)}</span>
              <RemoveButton
                label="Take away"
                title={`Take it away from ${nameOf(id)}?`}
                path={path}
                body={{ data: [{ type: kind, id }] }}
                forbidden={rule}
              />
            </li>
          ))}
        </ul>
      )}
      <form
        className="inline-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (chosen !== '') add.run();
        }}
      >
        <SelectField
          label={`Give it to one of the ${kind}`}
          value={chosen}
          onChange={setChosen}
          options={[
            { value: '', label: 'Choose …' },
            ...others.map(({ id, attributes }) => ({ value: id, label: attributes.name })),
          ]}
        />
        <button type="submit" className="button" aria-disabled={rule !== undefined || chosen === ''} title={rule}>
          Give
        </button>
      </form>
      <ErrorNotice error={add.error} />
    </section>
  );
}
