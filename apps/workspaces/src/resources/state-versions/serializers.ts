import { serializer, toMany, toOne } from '@keystead/jsonapi';
import type { View } from '../../kernel/endpoint';
import type { StateOutput } from './outputs';
import type { StateVersion } from './state-version';

/** A state version with the links its holder may follow. */
export interface ShownStateVersion extends StateVersion {
  readonly links: {
    readonly download: string | null;
    readonly jsonDownload: string | null;
    readonly upload: string | null;
    readonly jsonUpload: string | null;
  };
}

/** Spec: Workspace (relationships current-state-version). */
export const stateVersionSerializer = serializer<ShownStateVersion, View>({
  type: 'state-versions',
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/state-versions/${id}`,
  aliases: { 'infra-version': 'terraform-version' },
  attributes: (version) => ({
    'created-at': version.createdAt.toISOString(),
    size: Number(version.size),
    serial: Number(version.serial),
    lineage: version.lineage,
    status: version.status,
    intermediate: version.intermediate,
    'state-version': version.format,
    'infra-version': version.infraVersion,
    'resources-processed': version.resourcesProcessed,
    modules: version.modules,
    providers: version.providers,
    resources: version.resources,
    'vcs-commit-sha': null,
    'vcs-commit-url': null,
    'hosted-state-download-url': version.links.download,
    'hosted-json-state-download-url': version.links.jsonDownload,
    'hosted-state-upload-url': version.links.upload,
    'hosted-json-state-upload-url': version.links.jsonUpload,
  }),
  relationships: ({ workspaceId, runId, outputIds, createdByType, createdById, rollbackOfId }) => ({
    workspace: toOne('workspaces', workspaceId),
    run: toOne('runs', runId),
    'created-by': toOne(createdByType, createdById),
    outputs: toMany('state-version-outputs', outputIds),
    'rollback-state-version': toOne('state-versions', rollbackOfId),
  }),
});

/** An output of a state version. */
export const outputSerializer = serializer<StateOutput, View>({
  type: 'state-version-outputs',
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/state-version-outputs/${id}`,
  attributes: ({ name, sensitive, type, value, detailedType }) => ({
    name,
    sensitive,
    type,
    value,
    'detailed-type': detailedType,
  }),
});

/** An output as workspaces include it, under a type of its own. */
export const workspaceOutputSerializer = serializer<StateOutput, View>({
  type: 'workspace-outputs',
  id: ({ id }) => id,
  attributes: ({ name, sensitive, type, detailedType, value }) => ({
    name,
    sensitive,
    'output-type': type,
    'detailed-type': detailedType,
    value: sensitive ? null : value,
  }),
});
