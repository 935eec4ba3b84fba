import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty } from '../../design/page';
import { rule, useChange, useRead } from '../api';
import { memberName } from '../members/member-name';
import { ResourceTable } from '../parts/resource-table';

/** The members of a team, to add by user name and to remove. */
export function TeamMembers({ team }: { readonly team: Resource<'TeamsResource'> }) {
  const path = { team_id: team.id };
  const members = useRead(['team', team.id, 'members'], (api) =>
    api.GET('/api/v2/teams/{team_id}/relationships/organization-memberships', {
      params: { path, query: { include: 'user', 'page[size]': 100 } },
    }),
  );
  const [user, setUser] = useState('');
  const add = useChange(
    (api) =>
      api.POST('/api/v2/teams/{team_id}/relationships/users', {
        params: { path },
        body: { data: [{ type: 'users', id: user.trim() }] },
      }),
    () => setUser(''),
  );
  const remove = useChange((api, id: string) =>
    api.DELETE('/api/v2/teams/{team_id}/relationships/organization-memberships', {
      params: { path },
      body: { data: [{ type: 'organization-memberships', id }] },
    }),
  );
  const forbidden = rule(team.attributes.permissions['can-update-membership'], 'can-update-membership');
  return (
    <section className="stack-tight" aria-labelledby="members">
      <h2 id="members">Members</h2>
      <ResourceTable
        label="Members"
        query={members}
        outline={2}
        empty={<Empty>This team has no members.</Empty>}
        columns={[
          { head: 'Name', cell: (membership) => memberName(membership, members.data?.included ?? []) },
          { head: 'Email address', cell: ({ attributes }) => attributes.email },
          {
            head: 'Status',
            className: 'tight',
            cell: ({ attributes: { status } }) => (
              <Badge tone={status === 'active' ? 'green' : 'amber'}>{status}</Badge>
            ),
          },
          {
            head: '',
            className: 'tight',
            cell: (membership) => (
              <Button
                small
                forbidden={forbidden}
                onClick={() => remove.mutate(membership.id)}
                label={`Remove ${memberName(membership, members.data?.included ?? [])}`}
              >
                Remove
              </Button>
            ),
          },
        ]}
      />
      <ErrorNotice error={remove.error} />
      <Form layout="line" action="Add to team" change={add} forbidden={forbidden} onSend={() => add.mutate()}>
        <TextField label="Username" required value={user} onChange={setUser} hint="A member of the organization." />
      </Form>
    </section>
  );
}
