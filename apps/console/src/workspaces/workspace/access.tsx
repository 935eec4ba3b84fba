import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { SelectField } from '../../design/field';
import { Empty, SameBy } from '../../design/page';
import { document, type Item, needs, query, refOf } from '../data/documents';
import { useMany, useSend } from '../data/use-api';
import { FormDialog, Opener } from '../parts/form';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { WorkspaceHead } from './head';
import { organizationPath, useWorkspace, type Workspace } from './use-workspace';

interface Grant {
  readonly access: string;
  readonly runs: string;
  readonly variables: string;
  readonly 'state-versions': string;
  readonly 'workspace-locking': boolean;
}

const levels = [
  { value: 'read', label: 'read: see runs, states and variables' },
  { value: 'plan', label: 'plan: also start plans' },
  { value: 'write', label: 'write: also apply, and change variables and states' },
  { value: 'admin', label: 'admin: everything' },
];

/** Who may do what with a workspace: its teams, and what the reader may and may not. */
export function Access() {
  const { org, workspace } = useWorkspace();
  const path = `team-workspaces${query({ 'filter[workspace][id]': workspace?.id })}`;
  const { data, error, refetch } = useMany<Grant>(workspace === undefined ? undefined : path);
  const teams = useMany<{ name: string }>(`${organizationPath(org)}/teams?page[size]=100`);
  const nameOf = (grant: Item<Grant>) => {
    const id = refOf(grant, 'team')?.id ?? '';
    return { id, name: teams.data?.data.find((team) => team.id === id)?.attributes.name ?? id };
  };
  const rule = needs(workspace?.attributes.permissions, 'can-update', org);
  return (
    <div className="stack">
      <WorkspaceHead />
      <div className="row spread">
        <h2>Teams with access</h2>
        <Opener label="Give a team access" kind="primary" forbidden={rule}>
          {(close) => <Give workspace={workspace!} teams={teams.data?.data ?? []} onClose={close} />}
        </Opener>
      </div>
      <ResourceTable
        label="Teams with access"
        rows={data?.data}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <Empty>
            No team has access of its own. Owners, and teams with rights in the whole organization or its project, reach
            it.
          </Empty>
        }
        columns={[
          {
            head: 'Team',
            cell: (grant) => {
              const { id, name } = nameOf(grant);
              return <Link to={`/organizations/${org}/teams/${id}`}>{name}</Link>;
            },
          },
          { head: 'Access', className: 'tight', cell: ({ attributes }) => <Badge>{attributes.access}</Badge> },
          { head: 'Runs', className: 'wide-only', cell: ({ attributes }) => attributes.runs },
          { head: 'Variables', className: 'wide-only', cell: ({ attributes }) => attributes.variables },
          { head: 'States', className: 'wide-only', cell: ({ attributes }) => attributes['state-versions'] },
          {
            head: '',
            className: 'tight',
            cell: (grant) => (
              <RemoveButton
                label="Take away"
                title={`Take access away from ${nameOf(grant).name}?`}
                path={`team-workspaces/${grant.id}`}
                forbidden={rule}
              />
            ),
          },
        ]}
      />
      {workspace === undefined ? null : <Mine workspace={workspace} />}
      <SameBy api={`GET /api/v2/${path}`} />
    </div>
  );
}

function Give({
  workspace,
  teams,
  onClose,
}: {
  readonly workspace: Workspace;
  readonly teams: readonly Item<{ name: string }>[];
  readonly onClose: () => void;
}) {
  const [team, setTeam] = useState(teams[0]?.id ?? '');
  const [access, setAccess] = useState('read');
  const give = useSend(
    () => ({
      method: 'POST',
      path: 'team-workspaces',
      body: document(
        'team-workspaces',
        { access },
        { team: { type: 'teams', id: team }, workspace: { type: 'workspaces', id: workspace.id } },
      ),
    }),
    onClose,
  );
  return (
    <FormDialog
      title="Give a team access"
      action="Give access"
      busy={give.busy}
      error={give.error}
      onClose={onClose}
      onSubmit={() => give.run()}
    >
      <SelectField
        label="Team"
        value={team}
        onChange={setTeam}
        options={teams.map(({ id, attributes }) => ({ value: id, label: attributes.name }))}
      />
      <SelectField label="Access" value={access} onChange={setAccess} options={levels} />
    </FormDialog>
  );
}

function Mine({ workspace }: { readonly workspace: Workspace }) {
  const all = Object.entries(workspace.attributes.permissions).sort();
  return (
    <section className="stack-tight">
      <h2>What you may do here</h2>
      <ul className="abilities">
        {all.map(([name, may]) => (
          <li key={name}>
            <Badge tone={may ? 'green' : 'plain'}>{name}</Badge>
            <span className="visually-hidden">{may ? 'yes' : 'no'}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
