import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { counted } from '../../design/counted';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';
import { Members } from '../parts/members';
import { Creator, Opener } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { VariableDialog, variablesOfSet } from '../workspace/variable-dialog';

type VariableSet = Resource<'VarsetsResource'>;

const reach = ({ global, 'workspace-count': workspaces, 'project-count': projects }: VariableSet['attributes']) =>
  global ? 'every workspace' : `${counted(workspaces, 'workspace')}, ${counted(projects, 'project')}`;

/** The variable sets of an organization. */
export function VariableSets() {
  const org = useOrganizationName();
  const may = useOrganization().data?.data?.attributes.permissions['can-manage-varsets'];
  const sets = useRead(['varsets', org], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/varsets', {
      params: { path: { organization_name: org }, query: { 'page[size]': 100 } },
    }),
  );
  const create = (
    <Creator label="Create variable set" forbidden={rule(may, 'can-manage-varsets')}>
      {(close) => <SetDialog org={org} onClose={close} />}
    </Creator>
  );
  return (
    <div className="stack">
      <PageHead title="Variable sets" crumbs={organizationCrumbs(org, { label: 'Variable sets' })} actions={create} />
      <ResourceTable
        label="Variable sets"
        query={sets}
        empty={<Empty action={create}>A variable set gives the same variables to many workspaces.</Empty>}
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
          { head: 'Scope', cell: ({ attributes }) => reach(attributes) },
        ]}
      />
      <SameBy api={`GET /api/v2/organizations/${org}/varsets`} />
    </div>
  );
}

function SetDialog({
  org,
  set,
  onClose,
}: {
  readonly org: string;
  readonly set?: VariableSet;
  readonly onClose: () => void;
}) {
  const { name = '', description, global = false, priority = false } = set?.attributes ?? {};
  const draft = useDraft({ name, description: description ?? '', global, priority });
  const navigate = useNavigate();
  const body = { data: { type: 'varsets' as const, attributes: draft.value } };
  const save = useChange(
    (api) =>
      set === undefined
        ? api.POST('/api/v2/organizations/{organization_name}/varsets', {
            params: { path: { organization_name: org } },
            body,
          })
        : api.PATCH('/api/v2/varsets/{varset_id}', { params: { path: { varset_id: set.id } }, body }),
    ({ data }) => {
      onClose();
      if (set === undefined) void navigate({ to: `/organizations/${org}/varsets/${data?.id}` });
    },
  );
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <FormDialog
      title={set === undefined ? 'Create variable set' : 'Change variable set'}
      action={set === undefined ? 'Create variable set' : 'Save changes'}
      change={save}
      onBack={onClose}
      onSend={() => save.mutate()}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField label="Description" {...field('description')} />
      <CheckField label="Apply to all workspaces" {...check('global')} />
      <CheckField label="Prioritize the values of this set" {...check('priority')} />
    </FormDialog>
  );
}

/** One variable set: its variables, and the workspaces and projects that it applies to. */
export function VariableSetPage() {
  const org = useOrganizationName();
  const { set: id = '' } = useParams({ strict: false }) as { set?: string };
  const navigate = useNavigate();
  const params = { path: { varset_id: id } };
  const { data, error } = useRead(['varset', id], (api) =>
    api.GET('/api/v2/varsets/{varset_id}', { params: { ...params, query: { include: 'workspaces,projects' } } }),
  );
  const variables = useRead(['varset', id, 'vars'], (api) =>
    api.GET('/api/v2/varsets/{varset_id}/relationships/vars', { params }),
  );
  const home = variablesOfSet(id);
  const set = data?.data ?? undefined;
  const names = new Map(
    data?.included?.flatMap((one) =>
      one.type === 'workspaces' || one.type === 'projects' ? [[one.id, one.attributes.name] as const] : [],
    ),
  );
  const forbidden = rule(set?.attributes.permissions['can-update'], 'can-update');
  const create = (
    <Creator label="Create variable" forbidden={forbidden}>
      {(close) => <VariableDialog home={home} onClose={close} />}
    </Creator>
  );
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
                call={(api) => api.DELETE('/api/v2/varsets/{varset_id}', { params })}
                forbidden={forbidden}
                after={() => void navigate({ to: `/organizations/${org}/varsets` })}
              />
              <Opener label="Change" forbidden={forbidden}>
                {(close) => <SetDialog org={org} set={set} onClose={close} />}
              </Opener>
              {create}
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
        query={variables}
        empty={<Empty action={create}>No variables yet. Runs of the workspaces of this set get its variables.</Empty>}
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
                <Opener label="Change" small forbidden={forbidden}>
                  {(close) => <VariableDialog home={home} variable={variable} onClose={close} />}
                </Opener>
                <RemoveButton
                  label="Delete"
                  title={`Delete ${variable.attributes.key}?`}
                  call={(api) => home.remove(api, variable.id)}
                  forbidden={forbidden}
                />
              </span>
            ),
          },
        ]}
      />
      {set === undefined || set.attributes.global ? null : (
        <>
          <InWorkspaces set={set} org={org} names={names} forbidden={forbidden} />
          <InProjects set={set} org={org} names={names} forbidden={forbidden} />
        </>
      )}
      <SameBy api={`GET /api/v2/varsets/${id}`} />
    </div>
  );
}

interface ReachProps {
  readonly set: VariableSet;
  readonly org: string;
  /** The names of its workspaces and projects, by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly forbidden: string | undefined;
}

function InWorkspaces({ set, org, names, forbidden }: ReachProps) {
  const params = { path: { varset_id: set.id } };
  const address = '/api/v2/varsets/{varset_id}/relationships/workspaces';
  const body = (id: string) => ({ data: [{ type: 'workspaces' as const, id }] });
  return (
    <Members
      heading="Applied to workspaces"
      label="Apply to a workspace"
      kind="workspaces"
      org={org}
      names={names}
      members={set.relationships.workspaces.data}
      add={(api, id) => api.POST(address, { params, body: body(id) })}
      remove={(api, id) => api.DELETE(address, { params, body: body(id) })}
      forbidden={forbidden}
    />
  );
}

function InProjects({ set, org, names, forbidden }: ReachProps) {
  const params = { path: { varset_id: set.id } };
  const address = '/api/v2/varsets/{varset_id}/relationships/projects';
  const body = (id: string) => ({ data: [{ type: 'projects' as const, id }] });
  return (
    <Members
      heading="Applied to projects"
      label="Apply to a project"
      kind="projects"
      org={org}
      names={names}
      members={set.relationships.projects.data}
      add={(api, id) => api.POST(address, { params, body: body(id) })}
      remove={(api, id) => api.DELETE(address, { params, body: body(id) })}
      forbidden={forbidden}
    />
  );
}
