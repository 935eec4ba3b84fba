import { flag, hasMany, hasOne, instant, text, toMany, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { providerPolicy, providerVersionPolicy } from './policy';
import type { ProviderPlatform, ProviderVersion, RegistryProvider } from './provider';

/** A provider. */
export const providerSerializer = serializerOf<RegistryProvider>()({
  type: 'registry-providers',
  shape: {
    name: text,
    namespace: text,
    'registry-name': text,
    permissions: permissions(providerPolicy),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: {
    organization: hasOne('organizations'),
    'registry-provider-versions': hasMany('registry-provider-versions'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/registry-providers/${id}`,
  attributes: (provider, { access }) => ({
    name: provider.name,
    namespace: provider.namespace,
    'registry-name': provider.registryName,
    permissions: abilities(providerPolicy, access, provider),
    'created-at': provider.createdAt,
    'updated-at': provider.updatedAt,
  }),
  relationships: ({ organizationName, versionIds }) => ({
    organization: toOne('organizations', organizationName),
    'registry-provider-versions': toMany('registry-provider-versions', versionIds),
  }),
});

/** A version of a provider, with the state of its signed list. */
export const providerVersionSerializer = serializerOf<ProviderVersion>()({
  type: 'registry-provider-versions',
  shape: {
    version: text,
    'key-id': text,
    protocols: z.array(text),
    permissions: permissions(providerVersionPolicy),
    'shasums-uploaded': flag,
    'shasums-sig-uploaded': flag,
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { 'registry-provider': hasOne('registry-providers'), platforms: hasMany('registry-provider-platforms') },
  id: ({ id }) => id,
  attributes: (one, { access }) => ({
    version: one.version,
    'key-id': one.keyId,
    protocols: one.protocols,
    permissions: abilities(providerVersionPolicy, access, one),
    'shasums-uploaded': one.sums !== null,
    'shasums-sig-uploaded': one.signature !== null,
    'created-at': one.createdAt,
    'updated-at': one.updatedAt,
  }),
  relationships: ({ providerId, platforms }) => ({
    'registry-provider': toOne('registry-providers', providerId),
    platforms: toMany(
      'registry-provider-platforms',
      platforms.map(({ id }) => id),
    ),
  }),
  links: ({ links = {} }) => links,
});

/** The archive of a provider for one operating system and architecture. */
export const platformSerializer = serializerOf<ProviderPlatform>()({
  type: 'registry-provider-platforms',
  shape: {
    os: text,
    arch: text,
    filename: text,
    shasum: text,
    'provider-binary-uploaded': flag,
    permissions: permissions(providerVersionPolicy),
  },
  relations: { 'registry-provider-version': hasOne('registry-provider-versions') },
  id: ({ id }) => id,
  attributes: (one, { access }) => ({
    os: one.os,
    arch: one.arch,
    filename: one.filename,
    shasum: one.shasum,
    'provider-binary-uploaded': one.blobId !== null,
    permissions: abilities(providerVersionPolicy, access, one),
  }),
  relationships: ({ versionId }) => ({
    'registry-provider-version': toOne('registry-provider-versions', versionId),
  }),
  links: ({ links = {} }) => links,
});
