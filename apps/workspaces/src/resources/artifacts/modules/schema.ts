import { document, many, type ParsedDocument } from '@keystead/jsonapi';
import { z } from 'zod';
import { repositoryFolder, repositoryName } from '../../connections/repositories/follow';
import { sentBindings } from '../../workspaces/projects/tag-bindings';
import { artifactName, moduleProvider as provider, registryNames, versionText } from './names';

const tested = z
  .object({
    'tests-enabled': z.boolean().nullish(),
    'agent-execution-mode': z.enum(['remote', 'agent']).nullish(),
    'agent-pool-id': z.string().nullish(),
  })
  .nullish();

const followed = {
  branch: z.string().max(255).nullish(),
  tags: z.boolean().nullish(),
  'source-directory': repositoryFolder.nullish(),
  'tag-prefix': z
    .string()
    .max(128)
    .regex(/^[^\s~^:?*[\\]*$/, 'must be a tag prefix')
    .nullish(),
};

/** A new module whose versions come from a repository. */
export const CreateFromGit = document('registry-modules', {
  attributes: {
    name: artifactName.nullish(),
    provider: provider.nullish(),
    'initial-version': versionText.nullish(),
    'no-code': z.boolean().nullish(),
    'test-config': tested,
    'vcs-repo': z.object({
      identifier: repositoryName,
      'display-identifier': z.string().max(512).nullish(),
      'oauth-token-id': z.string().nullish(),
      'vcshost-app-installation-id': z.string().nullish(),
      'organization-name': z.string().max(255).nullish(),
      ...followed,
    }),
  },
  aliases: { 'vcs-repo.vcshost-app-installation-id': 'vcs-repo.github-app-installation-id' },
});
export type NewGitModule = ParsedDocument<typeof CreateFromGit>;

/** The branch, tags or folder that a module follows in its repository. */
export const ChangeModule = document('registry-modules', {
  attributes: { 'vcs-repo': z.object(followed).nullish(), 'no-code': z.boolean().nullish(), 'test-config': tested },
  relationships: { 'tag-bindings': many(sentBindings) },
});
export type ModuleChanges = ParsedDocument<typeof ChangeModule>;

/** Marks a version as deprecated, or removes the mark. */
export const DeprecateVersion = document('module-versions', {
  untyped: true,
  attributes: {
    deprecation: z.object({
      'deprecated-status': z.enum(['Deprecated', 'Undeprecated']),
      reason: z.string().max(1000).nullish(),
      link: z
        .string()
        .max(2048)
        .regex(/^https?:\/\/\S+$|^$/, 'must be an http or https address')
        .nullish(),
    }),
  },
});
export type Deprecation = ParsedDocument<typeof DeprecateVersion>;

/** A new module without files. */
export const CreateModule = document('registry-modules', {
  attributes: {
    name: artifactName,
    provider,
    'registry-name': z.enum(registryNames).nullish(),
    namespace: artifactName.nullish(),
    'no-code': z.boolean().nullish(),
    'test-config': tested,
  },
});
export type NewModule = ParsedDocument<typeof CreateModule>;

/** A new version, to be uploaded. */
export const CreateModuleVersion = document('registry-module-versions', {
  attributes: {
    version: versionText,
    'commit-sha': z
      .string()
      .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/i, 'must be the full hash of a commit')
      .nullish(),
  },
});
export type NewModuleVersion = ParsedDocument<typeof CreateModuleVersion>;
