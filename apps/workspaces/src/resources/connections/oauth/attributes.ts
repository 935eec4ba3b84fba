import { attributesOf, flag, instant, isSeen, notSeen, sentTo, text } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import { appWebhookUrl, callbackUrl, type OauthClient } from './oauth-client';
import { type GitProvider, providers } from './providers';

const { setting, lenient, ruled, writeOnly, shown, table } = attributesOf<OauthClient, View>();

const kinds = Object.keys(providers) as [GitProvider, ...GitProvider[]];
const displayNames = z.enum([
  'GitHub',
  'GitHub Enterprise',
  'GitLab.com',
  'GitLab Community Edition',
  'GitLab Enterprise Edition',
  'Azure DevOps Server',
  'Azure DevOps Services',
  'Bitbucket Cloud',
  'Bitbucket Server',
  'Bitbucket Data Center',
  'Gitea',
  'Forgejo',
  'GitHub App',
]);
const url = { type: text, takes: z.url({ protocol: /^https?$/ }), initial: '', when: 'create' } as const;
export const longText = z.string().max(65_536).nullable();
/** The token is sent in a header. If it was pasted with a line break, every call would fail. */
const token = longText.refine(
  (value) => !/[^\t\x20-\x7e\x80-\xff]/.test(value ?? ''),
  'contains a line break or another character that is not allowed in headers',
);
const optionalText = { type: text.nullable(), takes: longText, initial: null };

/**
 * The attributes of a connection, one row each. Request bodies, responses, columns and the API description are derived
 * from this table.
 */
export const clientAttributes = table({
  name: setting('name', {
    type: text.nullable(),
    takes: z.string().max(255).refine(isSeen, notSeen).nullable(),
    initial: null,
  }),
  'created-at': shown(instant, ({ createdAt }) => createdAt),
  'service-provider': setting('serviceProvider', { type: text, takes: z.enum(kinds), initial: '', when: 'create' }),
  'service-provider-display-name': shown(
    displayNames,
    ({ serviceProvider }) => providers[serviceProvider as GitProvider],
  ),
  'http-url': setting('httpUrl', url),
  'api-url': setting('apiUrl', url),
  'callback-url': shown(text, ({ id }, { publicUrl }) => callbackUrl(publicUrl, id)),
  'connect-path': shown(text, ({ id, organizationId }) => `/auth/${id}?organization_id=${organizationId}`),
  key: setting('key', optionalText),
  // The secret, the private key and the text of the token are never shown.
  secret: ruled({ type: text.nullable(), takes: sentTo(longText, 'http-url'), show: () => null }),
  'rsa-public-key': setting('rsaPublicKey', optionalText),
  'oauth-token-string': writeOnly(sentTo(token, 'http-url', 'api-url')),
  // Only for apps: where the host sends events.
  'webhook-url': shown(text.nullable(), ({ id, serviceProvider }, { publicUrl }) =>
    serviceProvider === 'github_app' ? appWebhookUrl(publicUrl, id) : null,
  ),
  // Why the Git host cannot be called, or why the last attempt to read the installations of an app failed.
  problem: shown(text.nullable(), (client) => client.problem),
  'organization-scoped': lenient('organizationScoped', { type: flag, takes: flag, initial: true }),
});
