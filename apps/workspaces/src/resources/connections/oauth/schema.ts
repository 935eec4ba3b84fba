import { document, many, one, references } from '@keystead/jsonapi';
import { z } from 'zod';
import { type GitProvider, providers } from './providers';

const text = z.string().max(65_536).nullish();
const url = z.url({ protocol: /^https?$/ });
const settings = {
  name: z.string().max(255).nullish(),
  key: text,
  secret: text,
  'rsa-public-key': text,
  'oauth-token-string': text,
  'organization-scoped': z.boolean().nullish(),
};
const relationships = { projects: many('projects'), 'agent-pool': one('agent-pools') };

export const CreateClient = document('oauth-clients', {
  attributes: {
    'service-provider': z.enum(Object.keys(providers) as [GitProvider, ...GitProvider[]]),
    'http-url': url,
    'api-url': url,
    'private-key': text,
    ...settings,
  },
  relationships,
});
export const UpdateClient = document('oauth-clients', { attributes: settings, relationships });
export const UpdateToken = document('oauth-tokens', { attributes: { 'ssh-key': text } });
export const Projects = references('projects');
