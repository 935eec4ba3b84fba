import { document, invalidAll, many, type ParsedDocument } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Environment } from '../../../kernel/endpoints/environment';
import { sentBindings } from '../../workspaces/projects/tag-bindings';
import { artifactName, hostOf, publicHost, registryNames, versionText } from '../modules/names';

const names: readonly string[] = registryNames;
const hostName = /^(?=.{3,259}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+(?::\d{1,5})?$/;

/** The registry of providers, by the host in their addresses: our own, the public registry, or another host's. */
export function registryOf(hostname: string, env: Pick<Environment, 'publicUrl'>): string {
  const host = hostname.toLowerCase();
  return host === hostOf('private', env) ? 'private' : host === publicHost ? 'public' : host;
}

/**
 * Throws `invalid` unless the name is private, public, or another host whose providers are mirrored. For an empty name,
 * the error has the two messages that clients expect.
 */
export function requireRegistryName(name: string, env: Pick<Environment, 'publicUrl'>): void {
  if (names.includes(name) || (hostName.test(name) && registryOf(name, env) === name)) return;
  const issue = (message: string) => ({ path: ['registryName'], message });
  throw invalidAll([...(name === '' ? [issue("can't be blank")] : []), issue('is not included in the list')]);
}

/** A new provider without versions. */
export const CreateProvider = document('registry-providers', {
  attributes: { name: artifactName, namespace: artifactName.nullish(), 'registry-name': z.string().max(259) },
});
export type NewProvider = ParsedDocument<typeof CreateProvider>;

/** The tags of a provider; some clients send no type. */
export const ChangeProvider = document('registry-providers', {
  untyped: true,
  relationships: { 'tag-bindings': many(sentBindings) },
});
export type ProviderChanges = ParsedDocument<typeof ChangeProvider>;

const word = (most: number) =>
  z
    .string()
    .regex(/^[0-9A-Za-z]+$/, 'must be letters and digits')
    .max(most);

/** A new version; some clients send no type. */
export const CreateProviderVersion = document('registry-provider-versions', {
  untyped: true,
  attributes: {
    version: versionText,
    'key-id': z.string().regex(/^[0-9A-Za-z-]{1,40}$/, 'must be the id of a key'),
    protocols: z
      .array(z.string().regex(/^\d{1,3}\.\d{1,3}$/, 'must be versions such as 5.0'))
      .max(20)
      .nullish(),
  },
});
export type NewProviderVersion = ParsedDocument<typeof CreateProviderVersion>;

/** A new platform; some clients send no type. */
export const CreatePlatform = document('registry-provider-platforms', {
  untyped: true,
  attributes: {
    os: word(32),
    arch: word(32),
    shasum: word(64),
    filename: z.string().regex(/^[0-9A-Za-z][\w.-]{0,254}$/, 'must be the name of a file'),
  },
});
export type NewPlatform = ParsedDocument<typeof CreatePlatform>;
