import { hasOne, text, toOne, whole } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { AppInstallation } from '../oauth/installations';

/** An account that an app is installed on. */
export const installationSerializer = serializerOf<AppInstallation>()({
  type: 'github-app-installations',
  shape: {
    name: text,
    'installation-id': whole,
    'installation-type': text,
    'installation-url': text.nullable(),
    'icon-url': text.nullable(),
  },
  relations: { 'oauth-client': hasOne('oauth-clients') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/github-app/installation/${id}`,
  attributes: ({ name, installationId, type, url, iconUrl }) => ({
    name,
    'installation-id': Number(installationId),
    'installation-type': type,
    'installation-url': url,
    'icon-url': iconUrl,
  }),
  relationships: ({ oauthClientId }) => ({
    'oauth-client': toOne('oauth-clients', oauthClientId, `/api/v2/oauth-clients/${oauthClientId}`),
  }),
});
