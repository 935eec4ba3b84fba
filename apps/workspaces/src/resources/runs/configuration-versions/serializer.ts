import { choice, flag, hasOne, instant, text, timestamps, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { deletedStatus, hidden } from '../../../kernel/blobs/backing-data';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { AnyConfiguration } from './configuration-version';

const self = ({ id }: AnyConfiguration): string => `/api/v2/configuration-versions/${id}`;

/** A bundle of configuration. */
export const configurationVersionSerializer = serializerOf<AnyConfiguration>()({
  type: 'configuration-versions',
  shape: {
    'auto-queue-runs': flag,
    'changed-files': z.array(text),
    'created-at': instant,
    error: text.nullable(),
    'error-message': text.nullable(),
    provisional: flag,
    source: text,
    speculative: flag,
    status: choice(['pending', 'fetching', 'uploaded', 'errored', 'archived', hidden, deletedStatus]),
    'status-timestamps': timestamps,
    'upload-url': text.optional(),
  },
  relations: {
    workspace: hasOne('workspaces'),
    'ingress-attributes': hasOne('ingress-attributes'),
  },
  id: ({ id }) => id,
  self,
  links: (cv) =>
    cv.status === 'uploaded' && cv.workspaceId !== null
      ? { download: `${self(cv)}/download` }
      : ({} as Record<string, string>),
  attributes: (cv) => ({
    'auto-queue-runs': cv.autoQueueRuns,
    'changed-files': cv.workspaceId === null ? [] : [...(cv.changedFiles ?? [])],
    'created-at': cv.createdAt,
    error: cv.error,
    'error-message': cv.errorMessage,
    provisional: cv.provisional,
    source: cv.source,
    speculative: cv.speculative,
    status: cv.status,
    'status-timestamps': cv.timestamps,
    ...(cv.uploadUrl === undefined ? {} : { 'upload-url': cv.uploadUrl }),
  }),
  relationships: ({ id, workspaceId, ...cv }) => ({
    workspace: toOne('workspaces', workspaceId),
    'ingress-attributes':
      !('ingressId' in cv) || cv.ingressId === null
        ? toOne('ingress-attributes', null)
        : toOne('ingress-attributes', cv.ingressId, `/api/v2/configuration-versions/${id}/ingress-attributes`),
  }),
});
