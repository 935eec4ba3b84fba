import {
  document,
  many,
  one,
  type ParsedDocument,
  references,
  type SentReference,
  sentTo,
  writeOnly,
} from '@keystead/jsonapi';
import { z } from 'zod';
import { clientAttributes, longText } from './attributes';

const { create, update } = clientAttributes;
const keyed = { 'private-key': sentTo(longText).optional() };
const relationships = { projects: many('projects'), 'agent-pool': one('agent-pools') };

const created = {
  ...create,
  ...keyed,
  'service-provider': create['service-provider'].unwrap(),
  'http-url': create['http-url'].unwrap(),
  'api-url': create['api-url'].unwrap(),
};
export const CreateClient = document('oauth-clients', { attributes: created, relationships });
/** A new connection, with the organization in the body. */
export const CreateClientOf = document('oauth-clients', {
  attributes: { ...created, 'organization-id': z.string().max(255).nullish() },
  relationships: { ...relationships, organization: one('organizations') },
});
export const UpdateClient = document('oauth-clients', { attributes: { ...update, ...keyed }, relationships });
export const UpdateToken = document('oauth-tokens', { attributes: { 'ssh-key': sentTo(longText).optional() } });
export const Projects = references('projects');
/** The parameters that a browser returns with from a host. */
export const NewToken = document('oauth-tokens', {
  attributes: { code: writeOnly(z.string().min(1).max(4096)), state: writeOnly(z.string().min(1).max(64)) },
});

/** The settings of an app to create from a manifest. */
export const NewManifest = document('github-app-manifests', {
  attributes: {
    name: create.name,
    'http-url': create['http-url'].unwrap(),
    'api-url': create['api-url'].unwrap(),
    account: z.string().max(100).nullable().optional(),
    'organization-scoped': create['organization-scoped'],
  },
  relationships: { 'agent-pool': one('agent-pools') },
});
/** The parameters that a browser returns with from a host that created an app. */
export const NewApp = document('oauth-clients', {
  attributes: { code: z.string().min(1).max(255), state: z.string().min(1).max(64) },
});

type WithProjects<B> = Omit<B, 'projects'> & { readonly projectIds: readonly string[] | undefined };

/** The settings of a connection in a request; its list of projects replaces the old one. */
export type ClientInput = WithProjects<ParsedDocument<typeof UpdateClient>>;
export type NewClient = WithProjects<ParsedDocument<typeof CreateClient>>;

/** A body with the ids of its projects. */
export function inputOf<B extends { projects?: readonly SentReference[] }>({ projects, ...rest }: B) {
  return { ...rest, projectIds: projects?.map(({ id }) => id ?? '') };
}
