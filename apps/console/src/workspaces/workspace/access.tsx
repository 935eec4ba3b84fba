import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { SelectField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, SameBy } from '../../design/page';
import { includedOf, rule, useChange, useRead } from '../api';
import { ChoiceField } from '../parts/choice-field';
import { Opener } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { WorkspaceHead } from './head';
import { useWorkspace, type Workspace } from './use-workspace';

type TeamGrant = Resource<'TeamWorkspacesResource'>;
type Level = TeamGrant['attributes']['access'];

const levels: readonly { readonly value: Level; readonly label: string }[] = [
  { value: 'read', label: 'read: see runs, states and variables' },
  { value: 'plan', label: 'plan: also start plans' },
  { value: 'write', label: 'write: also apply, and change variables and states' },
  { value: 'admin', label: 'admin: everything' },
];

/** The access to a workspace: its teams, and the permissions of the caller. */
export function WorkspaceAccess() {
  const { org, ws, workspace } = useWorkspace();
  const query = { 'filter[workspace][id]': workspace?.id ?? '', include: 'team', 'page[size]': 100 };
  const grants = useRead(
    ['team-workspaces', workspace?.id],
    (api) => api.GET('/api/v2/team-workspaces', { params: { query } }),
    { enabled: workspace !== undefined },
  );
  const nameOf = (grant: TeamGrant) => {
    const id = grant.relationships.team.data?.id ?? '';
    return { id, name: includedOf(grants.data?.included, grant.relationships.team)?.attributes.name ?? id };
  };
  const forbidden = rule(workspace?.attributes.permissions['can-update'], 'can-update');
  return (
    <div className="stack">
      <WorkspaceHead />
      <div className="row spread">
        <h2>Teams with access</h2>
        <Opener label="Give a team access" kind="primary" forbidden={forbidden}>
          {(close) => <Give workspace={workspace!} org={org} onClose={close} />}
        </Opener>
      </div>
      <ResourceTable
        label="Teams with access"
        query={grants}
        empty={
          <Empty>
            No team has access to only this workspace. Owners, and teams with rights in the organization or its project,
            reach it.
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
                title={`Remove access from ${nameOf(grant).name}?`}
                call={(api) =>
                  api.DELETE('/api/v2/team-workspaces/{team_workspace_id}', {
                    params: { path: { team_workspace_id: grant.id } },
                  })
                }
                forbidden={forbidden}
              />
            ),
          },
        ]}
      />
      {workspace === undefined ? null : <Mine workspace={workspace} />}
      <SameBy api={`GET /api/v2/team-workspaces?filter[workspace][id]=${workspace?.id ?? ws}`} />
    </div>
  );
}

function Give({
  workspace,
  org,
  onClose,
}: {
  readonly workspace: Workspace;
  readonly org: string;
  readonly onClose: () => void;
}) {
  const [team, setTeam] = useState('');
  const [access, setAccess] = useState<Level>('read');
  const relationships = {
    team: { data: { type: 'teams' as const, id: team } },
    workspace: { data: { type: 'workspaces' as const, id: workspace.id } },
  };
  const give = useChange(
    (api) =>
      api.POST('/api/v2/team-workspaces', {
        body: { data: { type: 'team-workspaces', attributes: { access }, relationships } },
      }),
    onClose,
  );
  return (
    <FormDialog
      title="Give a team access"
      action="Give access"
      change={give}
      onBack={onClose}
      onSend={() => {
        if (team !== '') give.mutate();
      }}
    >
      <ChoiceField
        label="Team"
        kind="teams"
        organization={org}
        value={team}
        onChange={setTeam}
        none="Choose a team"
        leaveOut={({ name }) => name === 'owners'}
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
