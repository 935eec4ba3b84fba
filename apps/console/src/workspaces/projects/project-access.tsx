import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty } from '../../design/page';
import { includedOf, rule, useChange, useRead } from '../api';
import { ChoiceField } from '../parts/choice-field';
import type { Choice } from '../parts/choices';
import { ResourceTable } from '../parts/resource-table';

type ProjectGrant = Resource<'TeamProjectsResource'>;
type ProjectLevel = ProjectGrant['attributes']['access'];

/** The access levels, each with what it allows a team to do. */
const levels: readonly { readonly value: ProjectLevel; readonly label: string }[] = [
  { value: 'read', label: 'read: see its workspaces and their runs' },
  { value: 'write', label: 'write: also start and apply runs, change variables' },
  { value: 'maintain', label: 'maintain: also create, change and delete workspaces' },
  { value: 'admin', label: 'admin: also the project itself and its teams' },
];

/** Which teams have access to a project, and at what level. */
export function ProjectAccess({
  project,
  organization,
}: {
  readonly project: Resource<'ProjectsResource'>;
  readonly organization: string;
}) {
  const query = { 'filter[project][id]': project.id, include: 'team', 'page[size]': 100 };
  const grants = useRead(['team-projects', project.id], (api) =>
    api.GET('/api/v2/team-projects', { params: { query } }),
  );
  const change = useChange((api, { id, access }: { id: string; access: ProjectLevel }) =>
    api.PATCH('/api/v2/team-projects/{team_project_id}', {
      params: { path: { team_project_id: id } },
      body: { data: { type: 'team-projects', attributes: { access } } },
    }),
  );
  const remove = useChange((api, id: string) =>
    api.DELETE('/api/v2/team-projects/{team_project_id}', { params: { path: { team_project_id: id } } }),
  );
  const teamOf = ({ relationships }: ProjectGrant) => relationships.team.data?.id ?? '';
  const nameOf = (grant: ProjectGrant) =>
    includedOf(grants.data?.included, grant.relationships.team)?.attributes.name ?? teamOf(grant);
  const { permissions } = project.attributes;
  const forbidden = rule(permissions['can-manage-teams'], 'can-manage-teams', 'an administrator of the project');
  const granted = new Set(grants.data?.data.map(({ relationships }) => relationships.team.data?.id));
  return (
    <section className="stack-tight" aria-labelledby="access">
      <h2 id="access">Team access</h2>
      <ResourceTable
        label="Team access"
        query={grants}
        outline={2}
        empty={
          <Empty>No team has access yet. Only owners and teams with access to all projects can see this project.</Empty>
        }
        columns={[
          {
            head: 'Team',
            cell: (grant) => (
              <Link to={`/organizations/${encodeURIComponent(organization)}/teams/${teamOf(grant)}`}>
                {nameOf(grant)}
              </Link>
            ),
          },
          {
            head: 'Access',
            cell: (grant) => (
              <select
                className="input"
                aria-label={`Access of ${nameOf(grant)}`}
                value={grant.attributes.access}
                disabled={forbidden !== undefined}
                title={forbidden}
                onChange={(event) => change.mutate({ id: grant.id, access: event.target.value as ProjectLevel })}
              >
                {levels.map(({ value, label }) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
                {grant.attributes.access === 'custom' ? (
                  <option value="custom">custom: chosen right by right</option>
                ) : null}
              </select>
            ),
          },
          {
            head: '',
            className: 'tight',
            cell: ({ id }) => (
              <Button small kind="danger" forbidden={forbidden} onClick={() => remove.mutate(id)}>
                Remove access
              </Button>
            ),
          },
        ]}
      />
      <ErrorNotice error={change.error ?? remove.error} />
      <Grant
        project={project.id}
        organization={organization}
        leaveOut={({ id, name }) => granted.has(id) || name === 'owners'}
        forbidden={forbidden}
      />
    </section>
  );
}

function Grant({
  project,
  organization,
  leaveOut,
  forbidden,
}: {
  readonly project: string;
  readonly organization: string;
  readonly leaveOut: (team: Choice) => boolean;
  readonly forbidden: string | undefined;
}) {
  const [team, setTeam] = useState('');
  const [access, setAccess] = useState<ProjectLevel>('read');
  const grant = useChange(
    (api) =>
      api.POST('/api/v2/team-projects', {
        body: {
          data: {
            type: 'team-projects',
            attributes: { access },
            relationships: {
              team: { data: { type: 'teams', id: team } },
              project: { data: { type: 'projects', id: project } },
            },
          },
        },
      }),
    () => setTeam(''),
  );
  return (
    <Form
      layout="line"
      action="Give access"
      change={grant}
      forbidden={forbidden ?? (team === '' ? 'Choose a team first.' : undefined)}
      onSend={() => grant.mutate()}
    >
      <ChoiceField
        label="Team"
        kind="teams"
        organization={organization}
        value={team}
        onChange={setTeam}
        none="Choose a team"
        leaveOut={leaveOut}
      />
      <SelectField label="Access" value={access} onChange={setAccess} options={levels} />
    </Form>
  );
}
