import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldError } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { typedText } from '../parts/typed';
import { apiBelow, type HostKind, hostOf, hosts } from './hosts';
import { MadeApp } from './made-app';

/** The connections of an organization to Git hosts. */
export function Connections() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1), 'page[size]': 20 };
  const connections = useRead(['oauth-clients', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/oauth-clients', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const may = organization.data?.data?.attributes.permissions['can-update-oauth'];
  return (
    <OrganizationPage
      title="Version control"
      path="oauth-clients"
      about={
        <p className="second">
          A workspace that follows a repository runs when somebody pushes, and plans what pull requests propose.
        </p>
      }
      adding={{
        label: 'Add connection',
        forbidden: rule(may, 'can-update-oauth'),
        form: (close) => <NewConnection organization={name} onClose={close} />,
      }}
    >
      <MadeApp organization={name} />
      <ResourceTable
        label="Connections"
        query={connections}
        paged
        outline={2}
        empty={
          <Empty>
            A connection is a token of a Git host, or an app of GitHub. Make a token there that may read repositories,
            set commit statuses, comment and manage webhooks; add it here; then choose the repository in the settings of
            a workspace.
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}/version-control/${id}`}>
                {attributes.name || attributes['service-provider-display-name']}
              </Link>
            ),
          },
          {
            head: 'Host',
            className: 'tight',
            cell: ({ attributes }) => attributes['service-provider-display-name'],
          },
          { head: 'Address', cell: ({ attributes }) => <code>{attributes['http-url']}</code> },
          {
            head: 'Open to',
            cell: ({ attributes, relationships }) =>
              attributes['organization-scoped']
                ? 'the whole organization'
                : `${relationships.projects.data.length} projects`,
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
    </OrganizationPage>
  );
}

function NewConnection({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [kind, setKind] = useState<HostKind>('github');
  const [name, setName] = useState('');
  const [address, setAddress] = useState('');
  const [ownApi, setOwnApi] = useState<string>();
  const [token, setToken] = useState('');
  const [key, setKey] = useState('');
  const [secret, setSecret] = useState('');
  const [privateKey, setPrivateKey] = useState('');
  const [isOpen, setOpen] = useState(true);
  const [account, setAccount] = useState('');
  const { at, usually = '', takesTokensAlone, isApp } = hostOf(kind);
  const http = at?.http ?? (address || usually);
  const api = ownApi ?? apiBelow(kind, http);
  const add = useChange(
    (client) =>
      client.POST('/api/v2/organizations/{organization_name}/oauth-clients', {
        params: { path: { organization_name: organization } },
        body: {
          data: {
            type: 'oauth-clients',
            attributes: {
              name: typedText(name),
              'service-provider': kind,
              'http-url': http,
              'api-url': api,
              ...(isApp ? { 'private-key': privateKey } : { 'oauth-token-string': typedText(token) }),
              key: typedText(key),
              secret: typedText(secret),
              'organization-scoped': isOpen,
            },
          },
        },
      }),
    ({ data }) =>
      void navigate({ to: `/organizations/${encodeURIComponent(organization)}/version-control/${data?.id}` }),
  );
  const make = useChange(
    (client) =>
      client.POST('/api/v2/organizations/{organization_name}/github-app-manifests', {
        params: { path: { organization_name: organization } },
        body: {
          data: {
            type: 'github-app-manifests',
            attributes: {
              name: typedText(name),
              'http-url': http,
              'api-url': api,
              account: typedText(account),
              'organization-scoped': isOpen,
            },
          },
        },
      }),
    ({ data }) => {
      if (data) location.assign(data.attributes['page-url']);
    },
  );
  const error = (field: string) => fieldError(add.error, field);
  return (
    <Form
      layout="panel"
      title="Add connection"
      action="Add this connection"
      change={add}
      onSend={() => add.mutate()}
      onBack={onClose}
    >
      <SelectField
        label="Host"
        value={kind}
        onChange={(chosen) => {
          setKind(chosen as HostKind);
          setOwnApi(undefined);
        }}
        options={Object.entries(hosts).map(([value, { label }]) => ({ value, label }))}
        error={error('service-provider')}
      />
      <TextField label="Name" value={name} onChange={setName} placeholder={hosts[kind].label} error={error('name')} />
      {at === undefined ? (
        <TextField
          label="Address"
          required
          type="url"
          value={address || usually}
          onChange={setAddress}
          placeholder="https://git.example.com"
          error={error('http-url')}
        />
      ) : null}
      <TextField
        label="Address of its interface"
        required
        type="url"
        value={api}
        onChange={setOwnApi}
        error={error('api-url')}
      />
      {isApp ? (
        <>
          <TextField
            label="Account that is to have the app"
            value={account}
            onChange={setAccount}
            error={fieldError(make.error, 'account')}
            placeholder="your own"
            hint="An organization of the host. It shows you the app before it makes it, and leads you back here."
          />
          <div className="row">
            <Button busy={make.isPending} onClick={() => make.mutate()}>
              Have the host make the app
            </Button>
          </div>
          <ErrorNotice error={make.error} />
          <p className="second">Or give the connection an app that is there already:</p>
          <TextField
            label="Id of the app"
            required
            value={key}
            onChange={setKey}
            error={error('key')}
            hint="It reads contents, and reads and writes commit statuses and pull requests. Its page at GitHub shows the id."
          />
          <TextField
            label="Private key"
            required
            masked
            rows={6}
            value={privateKey}
            onChange={setPrivateKey}
            error={error('private-key')}
            hint="As GitHub gave it to you, a .pem file. It is sealed and never shown again."
          />
          <TextField
            label="Webhook secret"
            masked
            value={secret}
            onChange={setSecret}
            error={error('secret')}
            hint="The page of the connection shows the address that goes with it. Without one, pushes are found within the hour."
          />
        </>
      ) : (
        <TextField
          label="Token"
          required={key === ''}
          masked
          value={token}
          onChange={setToken}
          error={error('oauth-token-string')}
          hint="It is sealed and never shown again. It reads repositories, sets statuses, comments, and makes webhooks."
        />
      )}
      {takesTokensAlone || isApp ? null : (
        <>
          <TextField
            label="Id of an application"
            value={key}
            onChange={setKey}
            error={error('key')}
            hint="Of one that is registered at the host: then you connect in the browser, and need no token."
          />
          {key === '' ? null : (
            <TextField
              label="Secret of the application"
              required
              masked
              value={secret}
              onChange={setSecret}
              error={error('secret')}
            />
          )}
        </>
      )}
      <CheckField
        label="Open to the whole organization"
        checked={isOpen}
        onChange={setOpen}
        hint="Otherwise only to the projects that you name on its page."
      />
    </Form>
  );
}
