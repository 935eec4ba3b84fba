import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Copied } from '../../design/copy';
import { counted } from '../../design/counted';
import { CheckField, TextField } from '../../design/field';
import { FormDialog, SettingsForm } from '../../design/form';
import { Notice } from '../../design/notice';
import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { includedOf, organizationCrumbs, useChange, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Members } from '../parts/members';
import { Creator } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { Status } from '../parts/states';
import { PolicyTabs, useForbidden } from './head';

type PolicySet = Resource<'PolicySetsResource'>;
type SetVersion = Resource<'PolicySetVersionsResource'>;

const reach = ({ global, 'tag-selectors': selectors, ...counts }: PolicySet['attributes']): string => {
  if (global) return 'every workspace';
  const tags = selectors.map(
    ({ 'tag-key': key, 'tag-value': value, 'is-exclude': not }) =>
      `${not ? 'not ' : ''}${key}${value === null ? '' : `=${value}`}`,
  );
  return [
    counted(counts['workspace-count'], 'workspace'),
    counted(counts['project-count'], 'project'),
    ...(tags.length === 0 ? [] : [`tags ${tags.join(', ')}`]),
  ].join(', ');
};

/** The policy sets of an organization. */
export function PolicySets() {
  const org = useOrganizationName();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = {
    ...(filters.q === undefined ? {} : { 'search[name]': filters.q }),
    'page[number]': Number(filters.page ?? 1),
  };
  const sets = useRead(['policy-sets', org, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/policy-sets', {
      params: { path: { organization_name: org }, query },
    }),
  );
  const create = (
    <Creator label="Create policy set" forbidden={useForbidden()}>
      {(close) => <NewSet org={org} onClose={close} />}
    </Creator>
  );
  return (
    <div className="stack">
      <PageHead title="Policy sets" crumbs={organizationCrumbs(org, { label: 'Policy sets' })} actions={create}>
        <PolicyTabs org={org} />
      </PageHead>
      <SearchBox label="Policy set name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Policy sets"
        query={sets}
        paged
        empty={<Empty action={create}>A policy set checks the runs of its workspaces with its policies.</Empty>}
        columns={[
          {
            head: 'Policy set',
            cell: ({ id, attributes: { name, description } }) => (
              <div className="stack-none">
                <Link to={`/organizations/${encodeURIComponent(org)}/policies/sets/${id}`}>{name}</Link>
                {description === '' ? null : <span className="second small">{description}</span>}
              </div>
            ),
          },
          {
            head: 'Policies',
            cell: ({ attributes }) =>
              attributes['vcs-repo']?.identifier ??
              (attributes.versioned ? 'uploaded versions' : attributes['policy-count']),
          },
          { head: 'Scope', cell: ({ attributes }) => reach(attributes) },
          { head: 'Updated', className: 'tight', cell: ({ attributes }) => <Time at={attributes['updated-at']} /> },
        ]}
      />
      <SameByApi path={`organizations/${org}/policy-sets`} />
    </div>
  );
}

function NewSet({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '', description: '', global: false, overridable: false });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/policy-sets', {
        params: { path: { organization_name: org } },
        body: { data: { type: 'policy-sets', attributes: { ...draft.value, kind: 'opa' } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(org)}/policies/sets/${data?.id}` }),
  );
  const { field, check } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create policy set"
      action="Create policy set"
      change={create}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField label="Description" {...field('description')} />
      <CheckField label="Apply to all workspaces" {...check('global')} />
      <CheckField
        label="Overridable"
        hint="A failed mandatory policy stops the run until someone with manage-policy-overrides overrides it."
        {...check('overridable')}
      />
    </FormDialog>
  );
}

/** One policy set: its policies, version, parameters and workspaces. */
export function PolicySetPage() {
  const org = useOrganizationName();
  const { set: id = '' } = useParams({ strict: false }) as { set?: string };
  const forbidden = useForbidden();
  const include = 'policies,workspaces,workspace_exclusions,projects,project_exclusions,newest_version,current_version';
  const found = useRead(['policy-set', id], (api) =>
    api.GET('/api/v2/policy-sets/{policy_set_id}', { params: { path: { policy_set_id: id }, query: { include } } }),
  );
  const at = `/organizations/${encodeURIComponent(org)}/policies/sets`;
  const name = found.data?.data?.attributes.name;
  return (
    <div className="stack">
      <PageHead
        title={name ?? 'Policy set'}
        crumbs={organizationCrumbs(org, { label: 'Policy sets', to: at }, { label: name ?? '…' })}
        state={found.data?.data?.attributes.overridable ? <Badge>overridable</Badge> : undefined}
      />
      <Loaded query={found} rows={8}>
        {({ data: set, included }) => {
          if (set === null) return null;
          const names = new Map(
            included?.flatMap((one) => ('name' in one.attributes ? [[one.id, one.attributes.name] as const] : [])),
          );
          const part = { set, org, names, forbidden };
          return (
            <>
              {set.attributes.kind === 'sentinel' ? (
                <Notice tone="amber">
                  Sentinel policies are not run: a mandatory one stops every run in the workspaces of this set.
                </Notice>
              ) : null}
              <p className="second">Reaches {reach(set.attributes)}.</p>
              {set.attributes.versioned ? (
                <Versions
                  set={set}
                  newest={includedOf(included, set.relationships['newest-version'])}
                  current={includedOf(included, set.relationships['current-version'])}
                />
              ) : (
                <Assigned {...part} list="policies" heading="Policies" label="Add a policy" />
              )}
              {set.attributes.global ? null : (
                <>
                  <Assigned {...part} list="workspaces" heading="Workspaces" label="Add a workspace" />
                  <Assigned {...part} list="projects" heading="Projects" label="Add a project" />
                </>
              )}
              <Assigned
                {...part}
                list="workspace-exclusions"
                heading="Excluded workspaces"
                label="Exclude a workspace"
              />
              <Assigned {...part} list="project-exclusions" heading="Excluded projects" label="Exclude a project" />
              <Parameters id={id} forbidden={forbidden} />
              <Settings set={set} forbidden={forbidden} />
              <DangerZone
                what="policy set"
                name={set.attributes.name}
                call={(api) =>
                  api.DELETE('/api/v2/policy-sets/{policy_set_id}', { params: { path: { policy_set_id: id } } })
                }
                to={at}
                forbidden={forbidden}
              >
                Its policies stay. Further runs are not checked by this set.
              </DangerZone>
            </>
          );
        }}
      </Loaded>
      <SameByApi path={`policy-sets/${id}`} />
    </div>
  );
}

interface SetPartProps {
  readonly set: PolicySet;
  readonly forbidden: string | undefined;
}

const lists = {
  policies: 'policies',
  workspaces: 'workspaces',
  'workspace-exclusions': 'workspaces',
  projects: 'projects',
  'project-exclusions': 'projects',
} as const;

/** One of the lists of a set. */
function Assigned({
  set,
  list,
  ...rest
}: SetPartProps & {
  readonly org: string;
  readonly names: ReadonlyMap<string, string>;
  readonly list: keyof typeof lists;
  readonly heading: string;
  readonly label: string;
}) {
  const kind = lists[list];
  const address = `/api/v2/policy-sets/{policy_set_id}/relationships/${list}` as const;
  const init = (id: string) => ({
    params: { path: { policy_set_id: set.id } },
    body: { data: [{ type: kind, id }] as never },
  });
  return (
    <Members
      {...rest}
      kind={kind}
      members={set.relationships[list].data}
      add={(api, id) => api.POST(address, init(id))}
      remove={(api, id) => api.DELETE(address, init(id))}
    />
  );
}

function Versions({
  set,
  newest,
  current,
}: {
  readonly set: PolicySet;
  readonly newest: SetVersion | undefined;
  readonly current: SetVersion | undefined;
}) {
  const repository = set.attributes['vcs-repo'];
  const commit = current?.attributes['ingress-attributes']?.['commit-sha'];
  return (
    <section className="stack-tight" aria-labelledby="versions">
      <h2 id="versions">Version</h2>
      {newest === undefined || newest.attributes['error-message'] === null ? null : (
        <Notice tone="red">The newest version could not be read: {newest.attributes['error-message']}</Notice>
      )}
      <dl className="facts">
        <dt>Source</dt>
        <dd>
          {repository === null ? 'uploaded' : `${repository.identifier}, branch ${repository.branch ?? 'default'}`}
          {set.attributes['policies-path'] === null ? '' : `, folder ${set.attributes['policies-path']}`}
        </dd>
        <dt>Judges by</dt>
        <dd>
          {current === undefined ? (
            'no version yet: every run that it applies to fails'
          ) : (
            <Copied text={current.id} what="version id" />
          )}
        </dd>
        {typeof commit === 'string' ? (
          <>
            <dt>Commit</dt>
            <dd>
              <Copied text={commit} what="commit" />
            </dd>
          </>
        ) : null}
        {newest === undefined ? null : (
          <>
            <dt>Newest</dt>
            <dd>
              <Status status={newest.attributes.status} /> <Time at={newest.attributes['created-at']} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function Parameters({ id, forbidden }: { readonly id: string; readonly forbidden: string | undefined }) {
  const path = { policy_set_id: id };
  const parameters = useRead(['policy-set', id, 'parameters'], (api) =>
    api.GET('/api/v2/policy-sets/{policy_set_id}/parameters', { params: { path, query: { 'page[size]': 100 } } }),
  );
  return (
    <section className="stack-tight" aria-labelledby="parameters">
      <div className="row spread">
        <h2 id="parameters">Parameters</h2>
        <Creator label="Create parameter" forbidden={forbidden}>
          {(close) => <NewParameter id={id} onClose={close} />}
        </Creator>
      </div>
      <ResourceTable
        label="Parameters"
        query={parameters}
        outline={1}
        empty={<p className="second">Policies read parameters as data.parameters.</p>}
        columns={[
          { head: 'Key', cell: ({ attributes }) => <code>{attributes.key}</code> },
          {
            head: 'Value',
            cell: ({ attributes: { sensitive, value } }) =>
              sensitive ? <Badge tone="violet">sensitive</Badge> : <code className="clipped">{value}</code>,
          },
          {
            head: '',
            className: 'tight',
            cell: ({ id: parameter_id, attributes: { key } }) => (
              <RemoveButton
                label={`Delete ${key}`}
                text="Delete"
                title={`Delete ${key}?`}
                call={(api) =>
                  api.DELETE('/api/v2/policy-sets/{policy_set_id}/parameters/{parameter_id}', {
                    params: { path: { ...path, parameter_id } },
                  })
                }
                forbidden={forbidden}
              />
            ),
          },
        ]}
      />
    </section>
  );
}

function NewParameter({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const draft = useDraft({ key: '', value: '', sensitive: false });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/policy-sets/{policy_set_id}/parameters', {
        params: { path: { policy_set_id: id } },
        body: { data: { type: 'vars', attributes: { ...draft.value, category: 'policy-set' } } },
      }),
    onClose,
  );
  const { field, check } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create parameter"
      action="Create parameter"
      change={create}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      <TextField label="Key" required autoFocus {...field('key')} />
      <TextField label="Value" {...field('value')} />
      <CheckField label="Sensitive" hint="The value is never shown again." {...check('sensitive')} />
    </FormDialog>
  );
}

function Settings({ set, forbidden }: SetPartProps) {
  const { name, description, global, overridable, 'policy-tool-version': tool } = set.attributes;
  const draft = useDraft({
    name,
    description,
    global,
    overridable: overridable ?? false,
    'policy-tool-version': tool ?? 'latest',
  });
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/policy-sets/{policy_set_id}', {
        params: { path: { policy_set_id: set.id } },
        body: { data: { type: 'policy-sets', id: set.id, attributes: draft.changes } },
      }),
    draft.reset,
  );
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <section className="stack-tight" aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <SettingsForm draft={draft} change={save} forbidden={forbidden} onSend={() => save.mutate()}>
        <TextField label="Name" required {...field('name')} />
        <TextField label="Description" {...field('description')} />
        <CheckField label="Apply to all workspaces" {...check('global')} />
        <CheckField label="Overridable" {...check('overridable')} />
        <TextField
          label="OPA version"
          hint="latest, or a version installed on the workers."
          {...field('policy-tool-version')}
        />
      </SettingsForm>
    </section>
  );
}
