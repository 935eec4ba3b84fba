import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { Loaded } from '../parts/loaded';
import { NewToken, type TokenInput } from '../parts/new-token';
import { SameByApi } from '../parts/same-by-api';
import { TokenList } from '../parts/token-list';
import { Passkeys } from './passkeys';
import { Password, Profile } from './profile';
import { TwoFactor } from './two-factor';

/** The person's account: name, tokens, second factor, this session. */
export function Account() {
  const account = useRead(['account'], (api) => api.GET('/api/v2/account/details'));
  return (
    <div className="stack">
      <PageHead title="Account" crumbs={[{ label: 'Organizations', to: '/' }, { label: 'Account' }]} />
      <Loaded query={account} rows={8}>
        {({ data }) =>
          data === null ? null : (
            <>
              <Tokens user={data.id} />
              <TwoFactor />
              <Passkeys />
              <ThisSession />
              <Profile key={data.id} user={data} />
              <Password />
            </>
          )
        }
      </Loaded>
      <SameByApi path="account/details" />
    </div>
  );
}

function Tokens({ user }: { readonly user: string }) {
  const [filters] = useFilters<'page'>();
  const path = { user_id: user };
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const tokens = useRead(['account', 'tokens', query], (api) =>
    api.GET('/api/v2/users/{user_id}/authentication-tokens', { params: { path, query } }),
  );
  const making = useChange((api, attributes: TokenInput) =>
    api.POST('/api/v2/users/{user_id}/authentication-tokens', {
      params: { path },
      body: { data: { type: 'authentication-tokens', attributes } },
    }),
  );
  return (
    <section className="stack-tight" aria-labelledby="tokens">
      <h2 id="tokens">API tokens</h2>
      <TokenList
        label="Your API tokens"
        query={tokens}
        paged
        outline={2}
        empty={
          <Empty command={`terraform login ${location.host}`}>
            A token gives a tool your permissions. Create one here, or with the login command of the tool.
          </Empty>
        }
      />
      <NewToken making={making} action="Create token" />
    </section>
  );
}

function ThisSession() {
  const { session } = useSession();
  return (
    <section className="stack-tight" aria-labelledby="session">
      <h2 id="session">This session</h2>
      <dl className="facts">
        <dt>Signed in as</dt>
        <dd>{session.name}</dd>
        <dt>Expires</dt>
        <dd>
          <Time at={session['expires-at']} />
        </dd>
        <dt>Expires if unused</dt>
        <dd>
          <Time at={session['idle-ends-at']} />
        </dd>
        <dt>Confirmed until</dt>
        <dd>
          <Time at={session['step-up-until']} />
        </dd>
      </dl>
      <p className="second">A new password ends every session but this one.</p>
    </section>
  );
}
