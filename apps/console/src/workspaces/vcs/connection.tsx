import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, TextField } from '../../design/field';
import { Form, SettingsForm } from '../../design/form';
import { Notice } from '../../design/notice';
import { PageHead } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { ChoiceField } from '../parts/choice-field';
import { DangerZone } from '../parts/danger-zone';
import { fieldError } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Opener } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { SameByApi } from '../parts/same-by-api';
import { typedText } from '../parts/typed';
import { App, type ConnectionPart } from './app';
import { CalledBy } from './called-by';
import { InBrowser } from './in-browser';
import { NewSecret } from './new-secret';

type OauthToken = Resource<'OauthTokensResource'>;

/** One connection to a Git host: its token, SSH key, and which projects may use it. */
export function Connection() {
  const organization = useOrganizationName();
  const { connection: id = '' } = useParams({ strict: false }) as { connection?: string };
  const params = { path: { oauth_client_id: id }, query: { include: 'oauth_tokens,projects' } };
  const connection = useRead(['oauth-client', id], (api) =>
    api.GET('/api/v2/oauth-clients/{oauth_client_id}', { params }),
  );
  const found = useOrganization();
  const may = found.data?.data?.attributes.permissions['can-update-oauth'];
  const forbidden = rule(may, 'can-update-oauth');
  const attributes = connection.data?.data?.attributes;
  const title = attributes?.name || attributes?.['service-provider-display-name'] || 'Connection';
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={organizationCrumbs(
          organization,
          { label: 'Version control', to: `/organizations/${encodeURIComponent(organization)}/version-control` },
          { label: title },
        )}
      />
      <Loaded query={connection} rows={8}>
        {({ data, included }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>ID</dt>
                <dd>
                  <Copied text={data.id} what="connection id" />
                </dd>
                <dt>Host</dt>
                <dd>
                  {data.attributes['service-provider-display-name']}, <code>{data.attributes['http-url']}</code>
                </dd>
                <dt>API URL</dt>
                <dd>
                  <code>{data.attributes['api-url']}</code>
                </dd>
                <dt>Created</dt>
                <dd>
                  <Time at={data.attributes['created-at']} />
                </dd>
              </dl>
              {data.attributes['service-provider'] === 'github_app' ? (
                <App client={data} forbidden={forbidden} />
              ) : (
                <Tokens
                  tokens={(included ?? []).filter((one): one is OauthToken => one.type === 'oauth-tokens')}
                  client={data}
                  forbidden={forbidden}
                />
              )}
              {data.attributes.problem === null || data.attributes['service-provider'] === 'github_app' ? null : (
                <Notice tone="amber">The host cannot be called: {data.attributes.problem}</Notice>
              )}
              <InBrowser client={data} forbidden={forbidden} />
              <Scope
                client={data}
                names={
                  new Map(
                    (included ?? []).map((one) => [one.id, 'name' in one.attributes ? one.attributes.name : null]),
                  )
                }
                organization={organization}
                forbidden={forbidden}
              />
              <CalledBy key={`pool of ${data.id}`} client={data} organization={organization} forbidden={forbidden} />
              <Name key={data.id} client={data} forbidden={forbidden} />
              <DangerZone
                what="connection"
                name={title}
                call={(api) =>
                  api.DELETE('/api/v2/oauth-clients/{oauth_client_id}', {
                    params: { path: { oauth_client_id: data.id } },
                  })
                }
                to={`/organizations/${encodeURIComponent(organization)}/version-control`}
                forbidden={forbidden}
              >
                Its token is deleted with it. Workspaces that follow a repository through it are disconnected; webhooks
                are removed at the host.
              </DangerZone>
            </>
          )
        }
      </Loaded>
      <SameByApi path={`oauth-clients/${id}`} />
    </div>
  );
}

function Tokens({ tokens, client, forbidden }: ConnectionPart & { readonly tokens: readonly OauthToken[] }) {
  return (
    <section className="stack-tight" aria-labelledby="tokens">
      <h2 id="tokens">Its token</h2>
      {tokens.length === 0 ? <p>It has no token. Add one to read repositories.</p> : null}
      {tokens.length === 0 ? null : (
        <Table
          label="Tokens"
          narrow="stacked"
          rows={tokens}
          keyOf={({ id }) => id}
          columns={[
            { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="token id" /> },
            {
              head: 'User at the host',
              cell: ({ attributes }) => attributes['service-provider-user'] ?? <span className="second">unknown</span>,
            },
            {
              head: 'SSH key for submodules',
              cell: ({ attributes }) => (attributes['has-ssh-key'] ? 'set' : <span className="second">none</span>),
            },
            { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
            {
              head: '',
              className: 'tight',
              cell: (token) => (
                <span className="row">
                  <Opener
                    small
                    label={token.attributes['has-ssh-key'] ? 'Replace SSH key' : 'Set SSH key'}
                    forbidden={forbidden}
                  >
                    {(close) => (
                      <NewSecret
                        title="SSH key"
                        label="Private key"
                        action="Save key"
                        attribute="ssh-key"
                        hint="A private key without a passphrase. It is encrypted and never shown again."
                        rows={6}
                        call={(api, text) =>
                          api.PATCH('/api/v2/oauth-tokens/{oauth_token_id}', {
                            params: { path: { oauth_token_id: token.id } },
                            body: { data: { type: 'oauth-tokens', attributes: { 'ssh-key': text } } },
                          })
                        }
                        onClose={close}
                      />
                    )}
                  </Opener>
                  {token.attributes['has-ssh-key'] ? (
                    <RemoveButton
                      label="Remove SSH key"
                      title="Remove the SSH key?"
                      forbidden={forbidden}
                      call={(api) =>
                        api.PATCH('/api/v2/oauth-tokens/{oauth_token_id}', {
                          params: { path: { oauth_token_id: token.id } },
                          body: { data: { type: 'oauth-tokens', attributes: { 'ssh-key': null } } },
                        })
                      }
                    >
                      <p>Submodules over SSH can no longer be fetched.</p>
                    </RemoveButton>
                  ) : null}
                </span>
              ),
            },
          ]}
        />
      )}
      <span>
        <Opener label={tokens.length === 0 ? 'Set a token' : 'Replace token'} forbidden={forbidden}>
          {(close) => (
            <NewSecret
              title="Token of the host"
              label="Token"
              action="Save token"
              attribute="oauth-token-string"
              hint="The previous one is no longer used. The id here stays the same, so workspaces need no change."
              call={(api, text) =>
                api.PATCH('/api/v2/oauth-clients/{oauth_client_id}', {
                  params: { path: { oauth_client_id: client.id } },
                  body: { data: { type: 'oauth-clients', attributes: { 'oauth-token-string': text } } },
                })
              }
              onClose={close}
            />
          )}
        </Opener>
      </span>
    </section>
  );
}

function Scope({
  client,
  names,
  organization,
  forbidden,
}: ConnectionPart & { readonly names: ReadonlyMap<string, string | null>; readonly organization: string }) {
  const isOpen = client.attributes['organization-scoped'];
  const [chosen, setChosen] = useState('');
  const projects = client.relationships.projects.data;
  const path = { oauth_client_id: client.id };
  const change = useChange((api, open: boolean) =>
    api.PATCH('/api/v2/oauth-clients/{oauth_client_id}', {
      params: { path },
      body: { data: { type: 'oauth-clients', attributes: { 'organization-scoped': open } } },
    }),
  );
  const open = useChange(
    (api) =>
      api.POST('/api/v2/oauth-clients/{oauth_client_id}/relationships/projects', {
        params: { path },
        body: { data: [{ type: 'projects', id: chosen }] },
      }),
    () => setChosen(''),
  );
  return (
    <section className="stack-tight" aria-labelledby="scope">
      <h2 id="scope">Scope</h2>
      <CheckField
        label="The whole organization"
        checked={change.isPending ? change.variables : isOpen}
        onChange={(all) => {
          if (forbidden === undefined) change.mutate(all);
        }}
        hint={forbidden ?? 'Otherwise only workspaces of the projects that are listed.'}
      />
      {isOpen ? null : (
        <>
          {projects.length === 0 ? <p>No project may use it yet.</p> : null}
          {projects.length === 0 ? null : (
            <ul className="list">
              {projects.map(({ id }) => (
                <li key={id}>
                  <span>{names.get(id) ?? <code>{id}</code>}</span>
                  <RemoveButton
                    text="Remove"
                    label={`Remove ${names.get(id) ?? id}`}
                    title={`Remove ${names.get(id) ?? id}?`}
                    forbidden={forbidden}
                    call={(api) =>
                      api.DELETE('/api/v2/oauth-clients/{oauth_client_id}/relationships/projects', {
                        params: { path },
                        body: { data: [{ type: 'projects', id }] },
                      })
                    }
                  />
                </li>
              ))}
            </ul>
          )}
          <Form
            layout="line"
            action="Allow project"
            change={open}
            forbidden={forbidden ?? (chosen === '' ? 'Choose a project first.' : undefined)}
            onSend={() => open.mutate()}
          >
            <ChoiceField
              label="Project"
              kind="projects"
              organization={organization}
              value={chosen}
              onChange={setChosen}
              none="choose one"
              leaveOut={({ id }) => projects.some((one) => one.id === id)}
            />
          </Form>
        </>
      )}
      <ErrorNotice error={change.error ?? open.error} />
    </section>
  );
}

function Name({ client, forbidden }: ConnectionPart) {
  const was = client.attributes.name ?? '';
  const [name, setName] = useState(was);
  const save = useChange((api) =>
    api.PATCH('/api/v2/oauth-clients/{oauth_client_id}', {
      params: { path: { oauth_client_id: client.id } },
      body: { data: { type: 'oauth-clients', attributes: { name: typedText(name) } } },
    }),
  );
  const draft = { isChanged: name !== was, reset: () => setName(was) };
  return (
    <SettingsForm title="Settings" draft={draft} change={save} forbidden={forbidden} onSend={() => save.mutate()}>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        placeholder={client.attributes['service-provider-display-name']}
        error={fieldError(save.error, 'name')}
      />
    </SettingsForm>
  );
}
