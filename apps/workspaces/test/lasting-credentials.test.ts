import { describe, expect, it } from '@jest/globals';
import { attributesSchema } from '@keystead/jsonapi';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';

const endpoints = resources.flatMap((resource) => resource.endpoints);
const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

type Schema = { readonly type?: string; readonly format?: string; readonly items?: Schema };
const attributesOf = ({ serializer }: Endpoint): [string, Schema][] =>
  Object.entries((attributesSchema(serializer?.spec.shape ?? {}).properties ?? {}) as Record<string, Schema>);
const isCredential = (schema: Schema): boolean => (schema.items ?? schema).format === 'password';

const given = 'the password is in the request';
const anonymous = 'the caller is not known yet: the proof is in the request';
/** Operations that return a new credential without asking for a proof of identity, with the reason. */
const exempt: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'POST /session': anonymous,
    'POST /oauth2/token': anonymous,
    'POST /account/two-factor': given,
    'POST /oauth-clients/:oauth_client_id/authorizations': 'leads to the Git host, which asks who sits there',
    'POST /organizations/:organization_name/github-app-manifests': 'leads to the Git host, which asks who sits there',
    'POST /account/two-factor/actions/verify': 'shows no secret: it was shown when the factor was begun',
  }),
);

/** Attributes that are named like credentials but are not, everywhere or in one type, with the reason. */
const innocent: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'avatar-url': 'an address that all may know',
    'repository-http-url': 'an address that all may know',
    'source-url': 'an address that all may know',
    'webhook-url': 'an address that all may know',
    'installation-url': 'an address that all may know',
    'icon-url': 'an address that all may know',
    'vcs-commit-url': 'an address that all may know',
    'http-url': 'an address that all may know',
    'api-url': 'an address that all may know',
    'callback-url': 'an address that all may know',
    url: 'an address that all may know',
    'slo-endpoint-url': 'an address that all may know',
    'sso-endpoint-url': 'an address that all may know',
    'acs-consumer-url': 'an address that all may know',
    'metadata-url': 'an address that all may know',
    key: 'a name',
    secret: 'always null: what was given is not shown',
    'rsa-public-key': 'public',
    'hmac-key': 'always null: what was given is not shown',
    'task-url': 'an address that those who read runs may know',
    'hosted-state-download-url': 'opens one state, for minutes',
    'hosted-json-state-download-url': 'opens one state, for minutes',
    'hosted-state-upload-url': 'opens one upload, for minutes',
    'hosted-json-state-upload-url': 'opens one upload, for minutes',
    'upload-url': 'opens one upload, for minutes',
    'log-read-url': 'opens one log, for minutes',
    'ingress-attributes.clone-url': 'an address without what opens it',
    'ingress-attributes.commit-url': 'an address of the Git host',
    'ingress-attributes.compare-url': 'an address of the Git host',
    'ingress-attributes.pull-request-url': 'an address of the Git host',
    'ingress-attributes.sender-avatar-url': 'an address of the Git host',
    'ingress-attributes.sender-html-url': 'an address of the Git host',
    'notification-configurations.token': 'always null: what was given is not shown',
    'workspace-upgrade.plan-url': 'an address of the console',
  }),
);

describe('an operation that creates credentials which outlive a session', () => {
  const answers = (endpoint: Endpoint): boolean =>
    endpoint.documentMeta !== undefined ||
    attributesOf(endpoint).some(([, schema]) => isCredential(schema)) ||
    Object.values(endpoint.answers).some(({ schema }) => Object.hasOwn(Object(schema?.properties), 'access_token'));
  const making = endpoints.filter(
    (endpoint) => endpoint.method !== 'GET' && endpoint.shows !== 'nothing' && answers(endpoint),
  );

  it('asks people at the console for a proof, or declares why not', () => {
    expect(making.length).toBeGreaterThan(10);
    const silent = making.filter((endpoint) => endpoint.stepUp?.({}) !== true && !exempt.has(nameOf(endpoint)));
    expect(silent.map(nameOf)).toEqual([]);
  });

  it('is exempt only if the rule would apply to it', () => {
    const needed = new Set(making.filter(({ stepUp }) => stepUp?.({}) !== true).map(nameOf));
    expect([...exempt.keys()].filter((name) => !needed.has(name))).toEqual([]);
  });

  it('is declared as such wherever its name shows it', () => {
    const telling = /(^|-)(token|secret|password|code|codes|key|link|url)$/;
    const untold = endpoints.flatMap((endpoint) =>
      attributesOf(endpoint)
        .filter(([name, schema]) => telling.test(name) && schema.type === 'string' && !isCredential(schema))
        .filter(([name]) => !innocent.has(name) && !innocent.has(`${endpoint.serializer?.spec.type}.${name}`))
        .map(([name]) => `${nameOf(endpoint)}: ${name}`),
    );
    expect(untold).toEqual([]);
  });
});
