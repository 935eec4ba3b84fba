import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { asOpened } from '../../shell/as-opened';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { useChoices } from '../parts/choices';
import { fieldError } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';
import { ShownOnce } from '../parts/shown-once';
import { type MemberIncluded, memberName } from './member-name';

type Membership = Resource<'OrganizationMembershipsResource'>;

/** The members of an organization, including invited ones. */
export function Members() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'status' | 'page'>();
  const query = {
    q: filters.q,
    'filter[status]': filters.status,
    include: 'user,teams',
    'page[number]': Number(filters.page ?? 1),
  };
  const members = useRead(['members', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/organization-memberships', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-manage-users'], 'can-manage-users');
  const included = members.data?.included ?? [];
  return (
    <OrganizationPage
      title="Members"
      path="organization-memberships"
      adding={{ label: 'Invite person', forbidden, form: (close) => <Invite organization={name} onClose={close} /> }}
    >
      <div className="row bottom">
        <SearchBox label="Username or address" value={filters.q} onSearch={(q) => setFilters({ q })} />
        <SelectField
          label="Status"
          value={filters.status ?? ''}
          onChange={(status) => setFilters({ status })}
          options={[{ value: '', label: 'all' }, 'active', 'invited']}
        />
      </div>
      <ResourceTable
        label="Members"
        query={members}
        paged
        empty={<Empty>No person matches this search.</Empty>}
        columns={[
          { head: 'Name', cell: (membership) => memberName(membership, included) },
          { head: 'Email address', cell: ({ attributes }) => attributes.email },
          {
            head: 'Status',
            className: 'tight',
            cell: ({ attributes: { status } }) => (
              <Badge tone={status === 'active' ? 'green' : 'amber'}>{status}</Badge>
            ),
          },
          {
            head: 'Teams',
            cell: (membership) => (
              <span className="tags">
                {teamsOf(membership, included).map((team) => (
                  <span className="tag" key={team}>
                    {team}
                  </span>
                ))}
              </span>
            ),
          },
          { head: 'Since', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          {
            head: '',
            className: 'tight',
            cell: (membership) => {
              const person = memberName(membership, included);
              const isActive = membership.attributes.status === 'active';
              return (
                <RemoveButton
                  text={isActive ? 'Remove' : 'Withdraw'}
                  label={isActive ? `Remove ${person}` : `Withdraw invitation of ${person}`}
                  action={isActive ? 'Remove' : 'Withdraw'}
                  title={`${isActive ? 'Remove' : 'Withdraw the invitation of'} ${membership.attributes.email}?`}
                  forbidden={forbidden}
                  call={(api) =>
                    api.DELETE('/api/v2/organization-memberships/{membership_id}', {
                      params: { path: { membership_id: membership.id } },
                    })
                  }
                >
                  <p>
                    They leave all teams of {name}, and their tokens no longer give access to it. Their account stays.
                  </p>
                </RemoveButton>
              );
            },
          },
        ]}
      />
    </OrganizationPage>
  );
}

function teamsOf({ relationships }: Membership, included: readonly MemberIncluded[]): string[] {
  const ids = new Set(relationships.teams.data.map(({ id }) => id));
  return included.flatMap((one) => (one.type === 'teams' && ids.has(one.id) ? [one.attributes.name] : []));
}

function Invite({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const [email, setEmail] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const teams = useChoices('teams', organization);
  const invite = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/organization-memberships', {
        params: { path: { organization_name: organization } },
        body: {
          data: {
            type: 'organization-memberships',
            attributes: { email: email.trim() },
            relationships: { teams: { data: chosen.map((id) => ({ type: 'teams' as const, id })) } },
          },
        },
      }),
    () => setEmail(''),
  );
  const link = invite.data?.meta?.['invite-url'];
  const invited = invite.data?.data?.attributes.email;
  return (
    <FormDialog
      title="Invite person"
      action="Invite person"
      change={invite}
      onSend={() => invite.mutate()}
      onBack={onClose}
    >
      {typeof link === 'string' ? (
        <ShownOnce name={`Invitation of ${invited}`} value={asOpened(link)} onClose={invite.reset}>
          Send them this link. They accept with their account, or create an account.
        </ShownOnce>
      ) : null}
      {invite.isSuccess && typeof link !== 'string' ? <p>{invited} has an account here, and is in.</p> : null}
      <TextField
        label="Email address"
        type="email"
        required
        autoFocus
        value={email}
        onChange={setEmail}
        error={fieldError(invite.error, 'email')}
      />
      <fieldset className="stack-tight">
        <legend>Teams</legend>
        <ErrorNotice error={teams.error} />
        {teams.isLong ? (
          <TextField
            label={`Find among ${teams.total} teams`}
            type="search"
            value={teams.part}
            onChange={teams.setPart}
            hint={chosen.length === 0 ? undefined : `${chosen.length} chosen`}
          />
        ) : null}
        {teams.choices === undefined && teams.error === null ? <Skeleton rows={2} /> : null}
        {(teams.choices ?? []).map(({ id, name }) => (
          <CheckField
            key={id}
            label={name}
            checked={chosen.includes(id)}
            onChange={(on) => setChosen(on ? [...chosen, id] : chosen.filter((one) => one !== id))}
            hint={name === 'owners' ? 'Owners have all permissions.' : undefined}
          />
        ))}
      </fieldset>
    </FormDialog>
  );
}
