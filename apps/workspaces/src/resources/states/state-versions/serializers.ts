import {
  anything,
  choice,
  flag,
  hasMany,
  hasOne,
  hasOneOf,
  instant,
  text,
  toMany,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { actorTypes } from '../../../kernel/audit/audit';
import { deletedStatus, hidden } from '../../../kernel/blobs/backing-data';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { StateOutput } from './outputs';
import { shownSerial } from './scanner/parse-state';
import { serialNumber } from './schema';
import type { StateVersion } from './state-version';

/** A state version with the links that its reader may use. */
export interface ShownStateVersion extends StateVersion {
  readonly links: {
    readonly download: string | null;
    readonly jsonDownload: string | null;
    readonly upload: string | null;
    readonly jsonUpload: string | null;
  };
}

/**
 * Resources in the form that state versions show: without the indexes of instances, which only the list of the
 * workspace shows.
 */
function withoutKeys(resources: unknown): unknown {
  return (resources as { keys?: unknown }[]).map(({ keys, ...resource }) => resource);
}

/** Spec: Workspace (relationships current-state-version). */
export const stateVersionSerializer = serializerOf<ShownStateVersion>()({
  type: 'state-versions',
  shape: {
    'created-at': instant,
    size: whole,
    serial: serialNumber,
    lineage: text.optional(),
    status: choice(['pending', 'finalized', 'discarded', hidden, deletedStatus]),
    intermediate: flag,
    'state-version': whole.nullable(),
    'infra-version': text.nullable(),
    'resources-processed': flag,
    modules: anything,
    providers: anything,
    resources: anything,
    'vcs-commit-sha': text.nullable(),
    'vcs-commit-url': text.nullable(),
    'hosted-state-download-url': text.nullable(),
    'hosted-json-state-download-url': text.nullable(),
    'hosted-state-upload-url': text.nullable(),
    'hosted-json-state-upload-url': text.nullable(),
  },
  relations: {
    workspace: hasOne('workspaces'),
    run: hasOne('runs'),
    'created-by': hasOneOf(actorTypes),
    outputs: hasMany('state-version-outputs'),
    'rollback-state-version': hasOne('state-versions'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/state-versions/${id}`,
  aliases: { 'infra-version': 'terraform-version' },
  attributes: (version) => ({
    'created-at': version.createdAt.toISOString(),
    size: Number(version.size),
    serial: shownSerial(version.serial),
    ...(version.lineage === null ? {} : { lineage: version.lineage }),
    status: version.status,
    intermediate: version.intermediate,
    'state-version': version.format,
    'infra-version': version.infraVersion,
    'resources-processed': version.resourcesProcessed,
    modules: version.modules,
    providers: version.providers,
    resources: withoutKeys(version.resources),
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
export const outputSerializer = serializerOf<StateOutput>()({
  type: 'state-version-outputs',
  shape: {
    name: text,
    sensitive: flag,
    type: text,
    value: anything,
    'detailed-type': anything,
  },
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

/** An output as workspaces include it, under its own type. */
export const workspaceOutputSerializer = serializerOf<StateOutput>()({
  type: 'workspace-outputs',
  shape: {
    name: text,
    sensitive: flag,
    'output-type': text,
    'detailed-type': anything,
    value: anything,
  },
  id: ({ id }) => id,
  attributes: ({ name, sensitive, type, detailedType, value }) => ({
    name,
    sensitive,
    'output-type': type,
    'detailed-type': detailedType,
    value: sensitive ? null : value,
  }),
});

/** The two formats of a state: the file that the tool wrote, and the tool's JSON. */
export type Form = 'raw' | 'json';

/** Where a format of a state version is read and written, below `/api/v2`. */
const contentPath = (id: string, form: Form): string => `/state-versions/${id}/content/${form}`;

/**
 * Adds signed links for reading existing content. Upload links come from `withUploadLinks`, because readers may not
 * write.
 */
export function withLinks(env: Environment, version: StateVersion): ShownStateVersion {
  const readable = version.status === 'finalized';
  const link = (form: Form, blobId: string | null) =>
    readable && blobId !== null ? signedUrl(env, 'GET', contentPath(version.id, form)) : null;
  return {
    ...version,
    links: {
      download: link('raw', version.rawBlobId),
      jsonDownload: link('json', version.jsonBlobId),
      upload: null,
      jsonUpload: null,
    },
  };
}

/** Adds the signed URLs for missing uploads. Only for the response to the creator of the version. */
export function withUploadLinks(version: ShownStateVersion, env: Environment): ShownStateVersion {
  const { id, status, rawBlobId, jsonBlobId } = version;
  const pending = status === 'pending';
  const link = (form: Form, when: boolean) => (when ? signedUrl(env, 'PUT', contentPath(id, form)) : null);
  return {
    ...version,
    links: {
      ...version.links,
      upload: link('raw', pending && rawBlobId === null),
      jsonUpload: link('json', (pending || status === 'finalized') && jsonBlobId === null),
    },
  };
}
