import { useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Copied } from '../../design/copy';
import { CheckField, SelectField, TextField } from '../../design/field';
import { SettingsForm } from '../../design/form';
import { Empty, PageHead } from '../../design/page';
import { organizationCrumbs, rule, useChange, useOrganizationName, useRead } from '../api';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { NewToken, type TokenInput } from '../parts/new-token';
import { SameByApi } from '../parts/same-by-api';
import { TokenList } from '../parts/token-list';
import { AccessMatrix } from './access-matrix';
import { TeamMembers } from './team-members';

type TeamResource = Resource<'TeamsResource'>;

/** One team: its permissions, members and tokens. */
export function Team() {
  const organization = useOrganizationName();
  const { team: id = '' } = useParams({ strict: false }) as { team?: string };
  const team = useRead(['team', id], (api) =>
    api.GET('/api/v2/teams/{team_id}', { params: { path: { team_id: id } } }),
  );
  const found = team.data?.data;
  return (
    <div className="stack">
      <PageHead
        title={found?.attributes.name ?? 'Team'}
        crumbs={organizationCrumbs(
          organization,
          { label: 'Teams', to: `/organizations/${encodeURIComponent(organization)}/teams` },
          { label: found?.attributes.name ?? '…' },
        )}
        state={found?.attributes.visibility === 'secret' ? <Badge tone="violet">secret</Badge> : null}
      >
        {found === undefined || found === null ? null : <Copied text={found.id} what="team id" />}
      </PageHead>
      <Loaded query={team} rows={10}>
        {({ data }) =>
          data === null ? null : (
            <>
              <TeamMembers team={data} />
              <AccessMatrix key={data.id} team={data} />
              <Tokens team={data} />
              {data.attributes.name === 'owners' ? null : (
                <>
                  <General key={`${data.id} general`} team={data} />
                  <Removal team={data} organization={organization} />
                </>
              )}
            </>
          )
        }
      </Loaded>
      <SameByApi path={`teams/${id}`} />
    </div>
  );
}

function Tokens({ team }: { readonly team: TeamResource }) {
  const { permissions } = team.attributes;
  const path = { team_id: team.id };
  const mayView = permissions['can-view-api-token'];
  const tokens = useRead(
    ['team', team.id, 'tokens'],
    (api) =>
      api.GET('/api/v2/teams/{team_id}/authentication-tokens', { params: { path, query: { 'page[size]': 100 } } }),
    { enabled: mayView },
  );
  const making = useChange((api, attributes: TokenInput) =>
    api.POST('/api/v2/teams/{team_id}/authentication-tokens', {
      params: { path },
      body: { data: { type: 'authentication-tokens', attributes } },
    }),
  );
  const forbidden = rule(permissions['can-update-api-token'], 'can-update-api-token');
  return (
    <section className="stack-tight" aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      {mayView ? (
        <TokenList
          label="Tokens of this team"
          query={tokens}
          outline={1}
          forbidden={forbidden}
          empty={<Empty>A team token lets a machine do what the team may, even after its creator leaves.</Empty>}
        />
      ) : (
        <p className="second">{rule(false, 'can-view-api-token')}</p>
      )}
      {forbidden !== undefined && !mayView ? null : (
        <NewToken
          making={making}
          action="Create token"
          forbidden={forbidden}
          hint="A team has one token without a description: creating another replaces it."
        />
      )}
    </section>
  );
}

function General({ team }: { readonly team: TeamResource }) {
  const { attributes } = team;
  const { permissions } = attributes;
  const draft = useDraft({
    name: attributes.name,
    visibility: attributes.visibility,
    'allow-member-token-management': attributes['allow-member-token-management'],
    'sso-team-id': attributes['sso-team-id'] ?? '',
  });
  const save = useChange(
    (api) => {
      const { 'sso-team-id': sso, ...rest } = draft.changes;
      const changes = { ...rest, ...(sso === undefined ? {} : { 'sso-team-id': sso || null }) };
      return api.PATCH('/api/v2/teams/{team_id}', {
        params: { path: { team_id: team.id } },
        body: { data: { type: 'teams', attributes: changes } },
      });
    },
    () => draft.reset(),
  );
  const forbidden = rule(permissions['can-update-name'], 'can-update-name');
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <SettingsForm title="Settings" draft={draft} change={save} forbidden={forbidden} onSend={() => save.mutate()}>
      <TextField label="Name" required {...field('name')} />
      <SelectField
        label="Visibility"
        {...field('visibility')}
        options={[
          { value: 'secret', label: 'Secret: its members and people who manage teams' },
          { value: 'organization', label: 'Visible: every member of the organization' },
        ]}
      />
      <CheckField label="Members can manage team tokens" {...check('allow-member-token-management')} />
      <TextField label="SSO team ID" {...field('sso-team-id')} />
    </SettingsForm>
  );
}

function Removal({ team, organization }: { readonly team: TeamResource; readonly organization: string }) {
  const { name, permissions, 'users-count': people } = team.attributes;
  return (
    <DangerZone
      what="team"
      name={name}
      call={(api) => api.DELETE('/api/v2/teams/{team_id}', { params: { path: { team_id: team.id } } })}
      to={`/organizations/${encodeURIComponent(organization)}/teams`}
      forbidden={rule(permissions['can-destroy'], 'can-destroy')}
    >
      Its access and tokens are deleted, too.
      {people === 0 ? null : ` ${people === 1 ? 'One person loses' : `${people} people lose`} what it gave.`}
    </DangerZone>
  );
}
