import type { Environment } from '../../kernel/environment';
import { signedUrl } from '../../kernel/signed-urls';
import type { ShownStateVersion } from './serializers';
import type { StateVersion } from './state-version';

/** The two forms a state is held in: as the tool wrote it, and as the tool's JSON. */
export type Form = 'raw' | 'json';

/** Where a form of a state version is read and written, below `/api/v2`. */
export const contentPath = (id: string, form: Form): string => `/state-versions/${id}/content/${form}`;

/** Adds the signed links: to write what is still missing, to read what is there. */
export function withLinks(env: Environment, version: StateVersion): ShownStateVersion {
  const pending = version.status === 'pending';
  const readable = version.status === 'finalized';
  const link = (form: Form, when: boolean) => (when ? signedUrl(env, contentPath(version.id, form)) : null);
  return {
    ...version,
    links: {
      download: link('raw', readable && version.rawBlobId !== null),
      jsonDownload: link('json', readable && version.jsonBlobId !== null),
      upload: link('raw', pending && version.rawBlobId === null),
      jsonUpload: link('json', (pending || readable) && version.jsonBlobId === null),
    },
  };
}
