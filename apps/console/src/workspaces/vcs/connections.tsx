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
import { fieldError, fieldsOf, useDraft } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { typedText } from '../parts/typed';
import { ConnectApp } from './connect-app';
import { apiBelow, type HostKind, hostOf, hosts } from './hosts';

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
          A workspace connected to a repository runs after each push, and plans each pull request.
        </p>
      }
      adding={{
        label: 'Add connection',
        forbidden: rule(may, 'can-update-oauth'),
        form: (close) => <NewConnection organization={name} onClose={close} />,
      }}
    >
      <ConnectApp organization={name} />
      <ResourceTable
        label="Connections"
        query={connections}
        paged
        outline={2}
        empty={
          <Empty>
            A connection is a token of a Git host, or a GitHub App. Create a token there that may read repositories, set
            commit statuses, comment and manage webhooks; add it here; then choose the repository in the settings of a
            workspace.
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
            head: 'Scope',
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
  const draft = useDraft({
    'service-provider': 'github' as HostKind,
    name: '',
    'http-url': '',
    'oauth-token-string': '',
    key: '',
    secret: '',
    'private-key': '',
    'organization-scoped': true,
    account: '',
  });
  const { 'service-provider': kind, name, key, 'organization-scoped': isOpen } = draft.value;
  const [ownApi, setOwnApi] = useState<string>();
  const { at, usually = '', takesTokensAlone, isApp } = hostOf(kind);
  const http = at?.http ?? (draft.value['http-url'] || usually);
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
              ...(isApp
                ? { 'private-key': draft.value['private-key'] }
                : { 'oauth-token-string': typedText(draft.value['oauth-token-string']) }),
              key: typedText(key),
              secret: typedText(draft.value.secret),
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
              account: typedText(draft.value.account),
              'organization-scoped': isOpen,
            },
          },
        },
      }),
    ({ data }) => {
      if (data) location.assign(data.attributes['page-url']);
    },
  );
  const { field, check } = fieldsOf(draft, add.error);
  return (
    <Form
      layout="panel"
      title="Add connection"
      action="Add connection"
      change={add}
      onSend={() => add.mutate()}
      onBack={onClose}
    >
      <SelectField
        label="Host"
        {...field('service-provider')}
        onChange={(chosen) => {
          draft.set('service-provider')(chosen);
          setOwnApi(undefined);
        }}
        options={Object.entries(hosts).map(([value, { label }]) => ({ value: value as HostKind, label }))}
      />
      <TextField label="Name" placeholder={hosts[kind].label} {...field('name')} />
      {at === undefined ? (
        <TextField
          label="Address"
          required
          type="url"
          placeholder="https://git.example.com"
          {...field('http-url')}
          value={draft.value['http-url'] || usually}
        />
      ) : null}
      <TextField
        label="API URL"
        required
        type="url"
        value={api}
        onChange={setOwnApi}
        error={fieldError(add.error, 'api-url')}
      />
      {isApp ? (
        <>
          <TextField
            label="Account that will own the app"
            {...field('account')}
            error={fieldError(make.error, 'account')}
            placeholder="your own"
            hint="An organization of the host. The host shows you the app before it creates it, and sends you back here."
          />
          <div className="row">
            <Button busy={make.isPending} onClick={() => make.mutate()}>
              Let the host create the app
            </Button>
          </div>
          <ErrorNotice error={make.error} />
          <p className="second">Or use an existing app:</p>
          <TextField
            label="Id of the app"
            required
            {...field('key')}
            hint="It reads contents, and reads and writes commit statuses and pull requests. Its page at GitHub shows the id."
          />
          <TextField
            label="Private key"
            required
            masked
            rows={6}
            {...field('private-key')}
            hint="The .pem file from GitHub. It is encrypted and never shown again."
          />
          <TextField
            label="Webhook secret"
            masked
            {...field('secret')}
            hint="The page of the connection shows the address for the webhook. Without one, pushes are found within an hour."
          />
        </>
      ) : (
        <TextField
          label="Token"
          required={key === ''}
          masked
          {...field('oauth-token-string')}
          hint="It is encrypted and never shown again. It reads repositories, sets statuses, comments, and creates webhooks."
        />
      )}
      {takesTokensAlone || isApp ? null : (
        <>
          <TextField
            label="OAuth client ID"
            {...field('key')}
            hint="Of an application registered at the host: then you connect in the browser, without a token."
          />
          {key === '' ? null : <TextField label="OAuth client secret" required masked {...field('secret')} />}
        </>
      )}
      <CheckField
        label="Available to the whole organization"
        {...check('organization-scoped')}
        hint="Otherwise only to the projects listed on its page."
      />
    </Form>
  );
}
