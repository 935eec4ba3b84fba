import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { PageHead } from '../../design/page';
import { organizationCrumbs, useChange, useOrganizationName } from '../api';
import { fieldError, fieldsOf, useDraft } from '../parts/draft';
import { SameByApi } from '../parts/same-by-api';
import { typedText } from '../parts/typed';
import { apiBelow, type HostKind, hostOf, hosts } from './hosts';

/** The page that adds a connection to a Git host. */
export function NewConnection() {
  const organization = useOrganizationName();
  const list = `/organizations/${encodeURIComponent(organization)}/version-control`;
  return (
    <div className="stack">
      <PageHead
        title="Add connection"
        crumbs={organizationCrumbs(organization, { label: 'Version control', to: list })}
      />
      <ConnectionForm organization={organization} list={list} />
      <SameByApi path={`organizations/${organization}/oauth-clients`} />
    </div>
  );
}

function ConnectionForm({ organization, list }: { readonly organization: string; readonly list: string }) {
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
    ({ data }) => void navigate({ to: `${list}/${data?.id}` }),
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
    <Form action="Add connection" change={add} onSend={() => add.mutate()} onBack={() => void navigate({ to: list })}>
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
            hint="An organization of the host. The host shows you the app before it creates it, and then returns you to this page."
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
            hint="The app needs to read contents, and to read and write commit statuses and pull requests. Its page at GitHub shows the id."
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
          hint="It must be able to read repositories, set statuses, comment, and create webhooks. It is encrypted and never shown again."
        />
      )}
      {takesTokensAlone || isApp ? null : (
        <>
          <TextField
            label="OAuth client ID"
            {...field('key')}
            hint="The client id of an application registered at the host. With it, you connect in the browser, without a token."
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
