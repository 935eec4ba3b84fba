import { signedUrl } from '../../../kernel/blobs/signed-urls';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { ShownStateVersion } from './serializers';
import type { StateVersion } from './state-version';

/** The two forms a state is held in: as the tool wrote it, and as the tool's JSON. */
export type Form = 'raw' | 'json';

/** Where a form of a state version is read and written, below `/api/v2`. */
const contentPath = (id: string, form: Form): string => `/state-versions/${id}/content/${form}`;

/** Adds the signed links of what is there to read. Who may read may not write: links for that are `withUploadLinks`. */
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

/** Adds the signed links for missing uploads: only for the answer to the creator of the version. */
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
