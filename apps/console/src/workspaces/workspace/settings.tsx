import { useNavigate } from '@tanstack/react-router';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Notice } from '../../design/notice';
import { SameBy } from '../../design/page';
import { rule, useChange, useRead } from '../api';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { typedLines } from '../parts/typed';
import { WorkspaceHead } from './head';
import { Repository } from './repository';
import { WorkspaceRetention } from './retention';
import { useWorkspace, type Workspace } from './use-workspace';

/** The settings of a workspace, its repository, its data retention, and its deletion. */
export function Settings() {
  const { org, ws, workspace } = useWorkspace();
  const resources = workspace?.attributes['resource-count'] ?? 0;
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace === undefined ? null : (
        <>
          <GeneralSettings key={workspace.id} workspace={workspace} org={org} />
          <Repository key={`${workspace.id} repository`} workspace={workspace} org={org} />
          <WorkspaceRetention
            workspace={workspace}
            forbidden={rule(workspace.attributes.permissions['can-update'], 'can-update')}
          />
          <DangerZone
            what="workspace"
            name={ws}
            call={(api) =>
              api.DELETE('/api/v2/workspaces/{workspace_id}', { params: { path: { workspace_id: workspace.id } } })
            }
            to={`/organizations/${org}`}
            forbidden={rule(workspace.attributes.permissions['can-destroy'], 'can-destroy')}
            warning={
              resources === 0 ? undefined : (
                <Notice tone="red">
                  It manages {resources.toLocaleString('en')} {resources === 1 ? 'resource' : 'resources'}. Destroy them
                  by a run first, otherwise no state contains them any more.
                </Notice>
              )
            }
          >
            Its states, variables and runs are deleted. The infrastructure that it manages stays.
          </DangerZone>
        </>
      )}
      <SameBy api={`PATCH /api/v2/workspaces/${workspace?.id ?? ws}`} />
    </div>
  );
}

function GeneralSettings({ workspace, org }: { readonly workspace: Workspace; readonly org: string }) {
  const was = workspace.attributes;
  const navigate = useNavigate();
  const draft = useDraft({
    name: was.name,
    description: was.description ?? '',
    'execution-mode': was['execution-mode'],
    'agent-pool-id': workspace.relationships['agent-pool'].data?.id ?? '',
    'infra-version': was['infra-version'],
    'working-directory': was['working-directory'] ?? '',
    'var-files': was['var-files'].join('\n'),
    'secrets-role': was['secrets-role'] ?? '',
    'auto-apply': was['auto-apply'],
    'allow-destroy-plan': was['allow-destroy-plan'],
  });
  const { 'execution-mode': mode, 'agent-pool-id': pool, ...value } = draft.value;
  const attributes = {
    ...value,
    description: value.description || null,
    ...(mode === was['execution-mode'] ? {} : { 'execution-mode': mode }),
    ...(mode === 'agent' && pool !== '' ? { 'agent-pool-id': pool } : {}),
    'working-directory': value['working-directory'] || null,
    'var-files': typedLines(value['var-files']),
    'secrets-role': value['secrets-role'] || null,
  };
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/workspaces/{workspace_id}', {
        params: { path: { workspace_id: workspace.id } },
        body: { data: { type: 'workspaces', attributes } },
      }),
    () => {
      const { name } = value;
      if (name !== was.name) void navigate({ to: `/organizations/${org}/workspaces/${name}/settings`, replace: true });
    },
  );
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <Form
      title="General"
      action="Save settings"
      change={save}
      forbidden={rule(was.permissions['can-update'], 'can-update')}
      onSend={() => save.mutate()}
      extra={
        <span role="status" className="second">
          {save.data === undefined || save.isPending ? '' : 'Saved.'}
        </span>
      }
    >
      <TextField label="Name" required {...field('name')} />
      <TextField label="Description" {...field('description')} />
      <SelectField
        label="Execution mode"
        {...field('execution-mode')}
        options={[
          { value: 'remote', label: 'Remote' },
          { value: 'local', label: 'Local' },
          { value: 'agent', label: 'Agent' },
        ]}
      />
      {mode === 'agent' ? <PoolField org={org} {...field('agent-pool-id')} /> : null}
      <TextField label="Terraform version" hint="Exact, or a constraint such as ~> 1.11" {...field('infra-version')} />
      <TextField label="Working directory" placeholder="the root" {...field('working-directory')} />
      <TextField
        label="Variables files"
        rows={2}
        hint="One path per line, relative to the working directory, or to the root if it begins with /. Variables set in this console take precedence."
        {...field('var-files')}
      />
      <TextField
        label="Secrets role"
        {...field('secrets-role')}
        hint="Runs log in to the secrets service with this role. Their credentials are revoked when the run ends."
      />
      <CheckField
        label="Auto apply"
        hint="Apply as soon as a plan succeeds, without asking."
        {...check('auto-apply')}
      />
      <CheckField label="Allow destroy plans" {...check('allow-destroy-plan')} />
    </Form>
  );
}

/** Chooses the agent pool whose agents carry out the runs. */
function PoolField({
  org,
  value,
  onChange,
  error,
}: {
  readonly org: string;
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly error: string | undefined;
}) {
  const pools = useRead(['agent-pools', org, 'all'], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/agent-pools', {
      params: { path: { organization_name: org }, query: { 'page[size]': 100 } },
    }),
  );
  const poolChoices = (pools.data?.data ?? []).map(({ id, attributes: { name } }) => ({ value: id, label: name }));
  const others = poolChoices.some((one) => one.value === value)
    ? []
    : [{ value, label: value === '' ? 'choose one' : value }];
  return (
    <SelectField
      label="Agent pool"
      value={value}
      onChange={onChange}
      options={[...others, ...poolChoices]}
      error={error}
      hint="The pool must allow this workspace."
    />
  );
}
