import type { Resource } from '../../../api/workspaces';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { Copied } from '../../../design/copy';
import { ErrorNotice } from '../../../design/error-notice';
import { CheckField, SelectField } from '../../../design/field';
import { Empty } from '../../../design/page';
import { useSession } from '../../../shell/session';
import { useChange, useRead } from '../../api';
import { useFilters } from '../../filters';
import { fieldError } from '../../parts/draft';
import { Loaded } from '../../parts/loaded';
import { NewToken, type TokenInput } from '../../parts/new-token';
import { RemoveButton } from '../../parts/remove-button';
import { ResourceTable } from '../../parts/resource-table';
import { SearchBox } from '../../parts/search-box';
import { TokenList } from '../../parts/token-list';
import { AdminPage } from '../frame';

type ScimSettings = Resource<'ScimSettingsResource'>['attributes'];
interface Changes {
  readonly enabled?: true;
  readonly paused?: boolean;
  readonly 'sign-in-provider-id'?: string | null;
  readonly 'site-admin-group-scim-id'?: string | null;
}

const useSettingsChange = () =>
  useChange((api, attributes: Changes) =>
    api.PATCH('/api/v2/admin/scim-settings', { body: { data: { type: 'scim-settings', attributes } } }),
  );

/** SCIM: a directory provisions users and groups. */
export function Scim() {
  const { session } = useSession();
  const may = session['is-site-admin'];
  const settings = useRead(['admin', 'scim'], (api) => api.GET('/api/v2/admin/scim-settings'), { enabled: may });
  const found = settings.data?.data?.attributes;
  const turnOn = useSettingsChange();
  return (
    <AdminPage
      title="SCIM"
      path="admin/scim-settings"
      state={
        found === undefined ? null : !found.enabled ? (
          <Badge>disabled</Badge>
        ) : found.paused ? (
          <Badge tone="amber">paused</Badge>
        ) : (
          <Badge tone="green">enabled</Badge>
        )
      }
    >
      <Loaded query={settings} rows={6}>
        {({ data }) =>
          data === null ? null : data.attributes.enabled ? (
            <>
              <dl className="facts">
                <dt>Settings for the directory</dt>
                <dd>
                  <Copied text={`${location.origin}/scim/v2`} what="address for the directory" />
                </dd>
              </dl>
              <Settings attributes={data.attributes} />
              <Tokens />
              <Groups />
              <SwitchOff />
            </>
          ) : (
            <Empty
              action={
                <span>
                  <Button kind="primary" busy={turnOn.isPending} onClick={() => turnOn.mutate({ enabled: true })}>
                    Switch SCIM on
                  </Button>
                </span>
              }
            >
              A directory (Okta, Entra ID, another that speaks SCIM 2.0) adds people here before their first sign-in,
              fills teams with its groups, and removes people as soon as they leave.
            </Empty>
          )
        }
      </Loaded>
      <ErrorNotice error={turnOn.error} />
    </AdminPage>
  );
}

function Settings({ attributes }: { readonly attributes: ScimSettings }) {
  const change = useSettingsChange();
  const providers = useRead(['admin', 'sign-in-providers', 'all'], (api) =>
    api.GET('/api/v2/admin/sign-in-providers', { params: { query: { 'page[size]': 100 } } }),
  );
  const saml = useRead(['admin', 'saml'], (api) => api.GET('/api/v2/admin/saml-settings'));
  const providerChoices = [
    ...(providers.data?.data ?? []).map(({ id, attributes: { name } }) => ({ value: id, label: name })),
    ...(saml.data?.data?.attributes.enabled || attributes['sign-in-provider-id'] === 'saml'
      ? [{ value: 'saml', label: 'SAML' }]
      : []),
  ];
  return (
    <section className="form" aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <SelectField
        label="Its users sign in at"
        value={attributes['sign-in-provider-id'] ?? ''}
        onChange={(id) => change.mutate({ 'sign-in-provider-id': id === '' ? null : id })}
        options={[{ value: '', label: 'nowhere yet' }, ...providerChoices]}
        error={fieldError(change.error, 'sign-in-provider-id')}
        hint="People who sign in there with the directory’s externalId get the account that the directory manages."
      />
      <CheckField
        label="Paused"
        checked={(change.isPending ? change.variables.paused : undefined) ?? attributes.paused}
        onChange={(paused) => change.mutate({ paused })}
        hint="Existing people and groups stay; changes of the directory are not accepted meanwhile."
      />
      <ErrorNotice error={change.error} />
    </section>
  );
}

/** A directory's token is valid for a month at least and a year at most. */
const lengths = [
  { value: '', label: 'in a year' },
  { value: '180', label: 'in 180 days' },
  { value: '90', label: 'in 90 days' },
  { value: '30', label: 'in 30 days' },
];

function Tokens() {
  const tokens = useRead(['admin', 'scim', 'tokens'], (api) =>
    api.GET('/api/v2/admin/scim-tokens', { params: { query: { 'page[size]': 100 } } }),
  );
  const making = useChange((api, { description, ...rest }: TokenInput) =>
    api.POST('/api/v2/admin/scim-tokens', {
      body: { data: { type: 'authentication-tokens', attributes: { description: description ?? '', ...rest } } },
    }),
  );
  return (
    <section className="stack-tight" aria-labelledby="tokens">
      <h2 id="tokens">Tokens of directories</h2>
      <TokenList
        label="Tokens of directories"
        query={tokens}
        outline={1}
        empty={<Empty>The directory authenticates with a token, which gives access to /scim/v2 only.</Empty>}
        end={(id) => (api) =>
          api.DELETE('/api/v2/admin/scim-tokens/{scim_token_id}', { params: { path: { scim_token_id: id } } })
        }
      />
      <NewToken
        making={making}
        action="Create token"
        lengths={lengths}
        hint="Required, such as the name of the directory."
      />
    </section>
  );
}

function Groups() {
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1), ...(filters.q === undefined ? {} : { q: filters.q }) };
  const settings = useRead(['admin', 'scim'], (api) => api.GET('/api/v2/admin/scim-settings'));
  const change = useSettingsChange();
  const administers = settings.data?.data?.attributes['site-admin-group-scim-id'];
  const groups = useRead(
    ['admin', 'scim', 'groups', query],
    (api) => api.GET('/api/v2/admin/scim-groups', { params: { query } }),
    { keeps: true },
  );
  return (
    <section className="stack-tight" aria-labelledby="groups">
      <h2 id="groups">Groups of the directory</h2>
      <SearchBox label="Group name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ErrorNotice error={change.error} />
      <ResourceTable
        label="Groups of the directory"
        query={groups}
        paged
        outline={2}
        empty={
          <Empty>
            {filters.q === undefined
              ? 'The directory has sent no groups yet. A group fills the teams that link to it on their own pages.'
              : `No group has “${filters.q}” in its name.`}
          </Empty>
        }
        columns={[
          { head: 'Name', cell: ({ attributes }) => attributes.name },
          { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="group id" /> },
          {
            head: 'Use',
            cell: ({ id }) => (id === administers ? <Badge tone="violet">administers the site</Badge> : null),
          },
          {
            head: '',
            className: 'tight',
            cell: ({ id, attributes: { name } }) =>
              id === administers ? (
                <Button
                  small
                  label={`${name} no longer administers`}
                  busy={change.isPending}
                  onClick={() => change.mutate({ 'site-admin-group-scim-id': null })}
                >
                  No longer
                </Button>
              ) : (
                <RemoveButton
                  text="Make administrators"
                  label={`Make administrators of ${name}`}
                  title={`Make all members of ${name} site administrators?`}
                  call={(api) =>
                    api.PATCH('/api/v2/admin/scim-settings', {
                      body: { data: { type: 'scim-settings', attributes: { 'site-admin-group-scim-id': id } } },
                    })
                  }
                >
                  <p>
                    Its members become site administrators. Members of the previous group are no longer site
                    administrators.
                  </p>
                </RemoveButton>
              ),
          },
        ]}
      />
    </section>
  );
}

function SwitchOff() {
  return (
    <section className="stack-tight danger-zone" aria-labelledby="end">
      <h2 id="end">Switch SCIM off</h2>
      <p className="second">
        Accounts, teams and data from the directory stay. Its tokens do not work until SCIM is enabled again.
      </p>
      <span>
        <RemoveButton
          small={false}
          label="Switch SCIM off"
          title="Switch SCIM off?"
          call={(api) => api.DELETE('/api/v2/admin/scim-settings')}
        />
      </span>
    </section>
  );
}
