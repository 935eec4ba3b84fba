import { choice, flag, hasOne, instant, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { ModuleVersion, RegistryModule } from './module';
import { registryNames } from './names';
import { modulePolicy } from './policy';

const versionStatus = choice(['pending', 'ok', 'reg_ingress_failed']);

/** A module with what became of its versions. */
export const moduleSerializer = serializerOf<RegistryModule>()({
  type: 'registry-modules',
  shape: {
    name: text,
    namespace: text,
    'registry-name': choice(registryNames),
    provider: text,
    status: choice(['pending', 'setup_complete']),
    'version-statuses': z.array(z.object({ version: text, status: versionStatus, error: text.optional() })),
    'no-code': flag,
    permissions: permissions(modulePolicy),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { organization: hasOne('organizations') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/registry-modules/${id}`,
  attributes: (module, { access }) => ({
    name: module.name,
    namespace: module.namespace,
    'registry-name': module.registryName,
    provider: module.provider,
    status: module.versions.some(({ status }) => status === 'ok') ? 'setup_complete' : 'pending',
    'version-statuses': module.versions.map(({ version, status, error }) => ({
      version,
      status,
      ...(error === null ? {} : { error }),
    })),
    'no-code': false,
    permissions: abilities(modulePolicy, access, module),
    'created-at': module.createdAt,
    'updated-at': module.updatedAt,
  }),
  relationships: ({ organizationName }) => ({ organization: toOne('organizations', organizationName) }),
});

/** A version; where to upload it is shown to those who may. */
export const moduleVersionSerializer = serializerOf<ModuleVersion>()({
  type: 'registry-module-versions',
  shape: {
    version: text,
    status: versionStatus,
    error: text.nullable(),
    source: text,
    'commit-sha': text.nullable(),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { 'registry-module': hasOne('registry-modules') },
  id: ({ id }) => id,
  attributes: (one) => ({
    version: one.version,
    status: one.status,
    error: one.error,
    source: 'tfe-api',
    'commit-sha': one.commitSha,
    'created-at': one.createdAt,
    'updated-at': one.updatedAt,
  }),
  relationships: ({ moduleId }) => ({ 'registry-module': toOne('registry-modules', moduleId) }),
  links: ({ uploadUrl }): Record<string, string> => (uploadUrl === undefined ? {} : { upload: uploadUrl }),
});
