import { choice, flag, hasMany, hasOne, instant, text, toMany, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { followedShape, showFollowed } from '../../connections/repositories/follow';
import type { ListedVersion, ModuleVersion, RegistryModule } from './module';
import { registryNames } from './names';
import { modulePolicy } from './policy';

const versionStatus = choice(['pending', 'cloning', 'ok', 'clone_failed', 'reg_ingress_failed']);

const repositoryShown = z.object({
  ...followedShape,
  'source-directory': text,
  'tag-prefix': text,
  tags: flag,
  'ingress-submodules': flag,
});

function repositoryOf(module: RegistryModule, publicUrl: string) {
  const shown = showFollowed(module, module.isInstallation, module.repository, publicUrl);
  if (!shown) return {};
  const { sourceDirectory, tagPrefix, vcsBranch } = module;
  const repository = {
    ...shown,
    'source-directory': sourceDirectory,
    'tag-prefix': tagPrefix,
    tags: vcsBranch === null,
    'ingress-submodules': true,
  };
  return { 'vcs-repo': repository };
}

/** The status of a module: whether it has a version, and if not, why. */
function statusOf({ versions, oauthTokenId, vcsBranch, lookedAt }: RegistryModule) {
  if (versions.some(({ status }) => status === 'ok')) return 'setup_complete';
  if (versions.some(({ status }) => !status.endsWith('_failed'))) return 'pending';
  if (oauthTokenId !== null && versions.length > 0) return 'setup_failed';
  return oauthTokenId !== null && vcsBranch === null && lookedAt !== null ? 'no_version_tags' : 'pending';
}

const deprecationShown = z.object({ 'deprecated-status': text, reason: text.nullable(), link: text.nullable() });

/** The message for users of a deprecated version. */
const deprecationOf = ({ deprecatedAt, deprecationReason: reason, deprecationLink: link }: ListedVersion) =>
  deprecatedAt === null ? undefined : { 'deprecated-status': 'Deprecated', reason, link };

/** A module with the status of its versions. */
export const moduleSerializer = serializerOf<RegistryModule>()({
  type: 'registry-modules',
  shape: {
    name: text,
    namespace: text,
    'registry-name': choice(registryNames),
    provider: text,
    status: choice(['pending', 'no_version_tags', 'setup_failed', 'setup_complete']),
    'publishing-mechanism': choice(['non_vcs', 'git_tag', 'branch']),
    'vcs-repo': repositoryShown.optional(),
    'version-statuses': z.array(
      z.object({
        version: text,
        status: versionStatus,
        error: text.optional(),
        deprecation: deprecationShown.optional(),
      }),
    ),
    'no-code': flag,
    'test-config': z.object({
      'tests-enabled': flag,
      'agent-execution-mode': text,
      'agent-pool-id': text.nullable(),
    }),
    permissions: permissions(modulePolicy),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { organization: hasOne('organizations'), 'no-code-modules': hasMany('no-code-modules') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/registry-modules/${id}`,
  attributes: (module, { access, publicUrl }) => ({
    name: module.name,
    namespace: module.namespace,
    'registry-name': module.registryName,
    provider: module.provider,
    status: statusOf(module),
    'publishing-mechanism': module.oauthTokenId === null ? 'non_vcs' : module.vcsBranch === null ? 'git_tag' : 'branch',
    ...repositoryOf(module, publicUrl),
    'version-statuses': module.versions.map((one) => ({
      version: one.version,
      status: one.status,
      ...(one.error === null ? {} : { error: one.error }),
      deprecation: deprecationOf(one),
    })),
    'no-code': module.noCode,
    'test-config': {
      'tests-enabled': module.testsEnabled,
      'agent-execution-mode': module.testExecutionMode ?? 'remote',
      'agent-pool-id': module.testAgentPoolId,
    },
    permissions: abilities(modulePolicy, access, module),
    'created-at': module.createdAt,
    'updated-at': module.updatedAt,
  }),
  relationships: ({ organizationName, noCodeId }) => ({
    organization: toOne('organizations', organizationName),
    'no-code-modules': toMany('no-code-modules', noCodeId === undefined ? [] : [noCodeId]),
  }),
});

/** A version; callers who may upload it also see the upload URL. */
export const moduleVersionSerializer = serializerOf<ModuleVersion>()({
  type: 'registry-module-versions',
  shape: {
    version: text,
    status: versionStatus,
    error: text.nullable(),
    source: choice(['tfe-api', 'tfe-vcs']),
    'commit-sha': text.nullable(),
    deprecation: deprecationShown.nullable(),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { 'registry-module': hasOne('registry-modules') },
  id: ({ id }) => id,
  attributes: (one) => ({
    version: one.version,
    status: one.status,
    error: one.error,
    source: one.source,
    'commit-sha': one.commitSha,
    deprecation: deprecationOf(one) ?? null,
    'created-at': one.createdAt,
    'updated-at': one.updatedAt,
  }),
  relationships: ({ moduleId }) => ({ 'registry-module': toOne('registry-modules', moduleId) }),
  links: ({ uploadUrl }): Record<string, string> => (uploadUrl === undefined ? {} : { upload: uploadUrl }),
});
