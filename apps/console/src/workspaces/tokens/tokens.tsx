import { Empty } from '../../design/page';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { NewToken, type TokenInput } from '../parts/new-token';
import { OrganizationPage } from '../parts/organization-page';
import { TokenList } from '../parts/token-list';
import { TokenLifetimes } from './lifetimes';

/** The tokens of an organization, of its audit trail and of its teams. */
export function Tokens() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const teamTokens = useRead(['team-tokens', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/team-tokens', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const may = organization.data?.data?.attributes.permissions['can-update-api-token'];
  return (
    <OrganizationPage
      title="Tokens"
      path="authentication-token"
      about={
        <p className="second">
          For machines. People create their own tokens below Account; tokens of agents are created with their pool.
        </p>
      }
    >
      <OrganizationToken
        title="Organization token"
        about="Manages teams, members and workspaces; it cannot start runs. There is only one: a new one replaces it."
        may={may}
        kind={undefined}
      />
      <OrganizationToken
        title="Audit trail token"
        about="Reads the audit trail and nothing else."
        may={may}
        kind="audit-trails"
      />
      <section className="stack-tight" aria-labelledby="team-tokens">
        <h2 id="team-tokens">Team tokens</h2>
        <TokenList
          label="Team tokens"
          query={teamTokens}
          paged
          outline={2}
          empty={<Empty>No team that you manage has a token. Create one on the page of a team.</Empty>}
        />
      </section>
      {organization.data?.data == null ? null : (
        <TokenLifetimes
          isOn={organization.data.data.attributes['max-ttl-enabled']}
          forbidden={rule(may, 'can-update-api-token')}
        />
      )}
    </OrganizationPage>
  );
}

function OrganizationToken({
  title,
  about,
  may,
  kind,
}: {
  readonly title: string;
  readonly about: string;
  readonly may: boolean | undefined;
  readonly kind: 'audit-trails' | undefined;
}) {
  const name = useOrganizationName();
  const params = { path: { organization_name: name }, query: { token: kind } };
  const token = useRead(
    ['organization-token', name, kind],
    (api) => api.GET('/api/v2/organizations/{organization_name}/authentication-tokens', { params }),
    { enabled: may === true },
  );
  const making = useChange((api, attributes: TokenInput) =>
    api.POST('/api/v2/organizations/{organization_name}/authentication-token', {
      params,
      body: { data: { type: 'authentication-tokens', attributes } },
    }),
  );
  const forbidden = rule(may, 'can-update-api-token');
  const isNone = token.data?.data.length === 0;
  const id = kind ?? 'organization';
  return (
    <section className="stack-tight" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p className="second">{about}</p>
      {may === true && !isNone ? <TokenList label={title} query={token} outline={1} empty={null} /> : null}
      {may === false ? <p className="second">{forbidden}</p> : null}
      {isNone ? <p>There is none.</p> : null}
      <NewToken making={making} action={isNone ? 'Create token' : 'Replace token'} forbidden={forbidden} />
    </section>
  );
}
