import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { SameBy } from '../../design/page';
import { rule, useChange, useRead } from '../api';
import { fieldError } from '../parts/draft';
import { RemoveButton } from '../parts/remove-button';
import { WorkspaceHead } from './head';
import { Repository } from './repository';
import { WorkspaceRetention } from './retention';
import { useWorkspace, type Workspace } from './use-workspace';

/** What a workspace is set to, the repository that it follows, how long it keeps things, and its end. */
export function Settings() {
  const { org, ws, workspace } = useWorkspace();
  const navigate = useNavigate();
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
          <section className="stack-tight">
            <h2>End</h2>
            <p className="second">
              With a workspace go its states, its variables and its runs. What it manages in the world stays.
            </p>
            <div className="row">
              <RemoveButton
                small={false}
                label="Delete workspace"
                title={`Delete ${ws}?`}
                name={ws}
                call={(api) =>
                  api.DELETE('/api/v2/workspaces/{workspace_id}', { params: { path: { workspace_id: workspace.id } } })
                }
                forbidden={rule(workspace.attributes.permissions['can-destroy'], 'can-destroy')}
                after={() => void navigate({ to: `/organizations/${org}` })}
              >
                <Notice tone="red">
                  It manages {workspace.attributes['resource-count']} resources. Destroy them by a run first, or nothing
                  will know of them.
                </Notice>
              </RemoveButton>
            </div>
          </section>
        </>
      )}
      <SameBy
        api={`PATCH /api/v2/workspaces/${workspace?.id ?? ws}`}
        command={`keystead workspace update ${org}/${ws}`}
      />
    </div>
  );
}

function GeneralSettings({ workspace, org }: { readonly workspace: Workspace; readonly org: string }) {
  const was = workspace.attributes;
  const navigate = useNavigate();
  const [name, setName] = useState(was.name);
  const [description, setDescription] = useState(was.description ?? '');
  const [mode, setMode] = useState(was['execution-mode']);
  const [pool, setPool] = useState(workspace.relationships['agent-pool'].data?.id ?? '');
  const [version, setVersion] = useState(was['infra-version']);
  const [folder, setFolder] = useState(was['working-directory'] ?? '');
  const [role, setRole] = useState(was['secrets-role'] ?? '');
  const [auto, setAuto] = useState(was['auto-apply']);
  const [destroy, setDestroy] = useState(was['allow-destroy-plan']);
  const attributes = {
    name,
    description: description || null,
    ...(mode === was['execution-mode'] ? {} : { 'execution-mode': mode }),
    ...(mode === 'agent' && pool !== '' ? { 'agent-pool-id': pool } : {}),
    'infra-version': version,
    'working-directory': folder || null,
    'secrets-role': role || null,
    'auto-apply': auto,
    'allow-destroy-plan': destroy,
  };
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/workspaces/{workspace_id}', {
        params: { path: { workspace_id: workspace.id } },
        body: { data: { type: 'workspaces', attributes } },
      }),
    () => {
      if (name !== was.name) void navigate({ to: `/organizations/${org}/workspaces/${name}/settings`, replace: true });
    },
  );
  const fault = (field: string) => fieldError(save.error, field);
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <h2>General</h2>
      <TextField label="Name" value={name} onChange={setName} required error={fault('name')} />
      <TextField label="Description" value={description} onChange={setDescription} error={fault('description')} />
      <SelectField
        label="Runs take place"
        value={mode}
        onChange={(value) => setMode(value as typeof mode)}
        options={[
          { value: 'remote', label: 'here, on a worker' },
          { value: 'local', label: 'on the machines of its users' },
          { value: 'agent', label: 'on an agent' },
        ]}
        error={fault('execution-mode')}
      />
      {mode === 'agent' ? <PoolField org={org} value={pool} onChange={setPool} error={fault('agent-pool-id')} /> : null}
      <TextField
        label="Terraform version"
        value={version}
        onChange={setVersion}
        error={fault('infra-version')}
        hint="Exact, or a constraint such as ~> 1.11"
      />
      <TextField
        label="Folder of the configuration"
        value={folder}
        onChange={setFolder}
        placeholder="the root"
        error={fault('working-directory')}
      />
      <TextField
        label="Secrets role"
        value={role}
        onChange={setRole}
        error={fault('secrets-role')}
        hint="Its runs log in at the secrets service by this role, and what they were given ends with them."
      />
      <CheckField label="Apply without asking when a plan succeeds" checked={auto} onChange={setAuto} />
      <CheckField label="Allow plans that destroy everything" checked={destroy} onChange={setDestroy} />
      <ErrorNotice error={save.error} />
      <div className="row">
        <Button
          type="submit"
          kind="primary"
          busy={save.isPending}
          forbidden={rule(was.permissions['can-update'], 'can-update')}
        >
          Save settings
        </Button>
        <span role="status" className="second">
          {save.data === undefined || save.isPending ? '' : 'Saved.'}
        </span>
      </div>
    </form>
  );
}

/** The agent pool of whose agents one carries out the runs. */
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
  const known = (pools.data?.data ?? []).map(({ id, attributes: { name } }) => ({ value: id, label: name }));
  const others = known.some((one) => one.value === value)
    ? []
    : [{ value, label: value === '' ? 'choose one' : value }];
  return (
    <SelectField
      label="Agent pool"
      value={value}
      onChange={onChange}
      options={[...others, ...known]}
      error={error}
      hint="It has to be open to this workspace."
    />
  );
}
