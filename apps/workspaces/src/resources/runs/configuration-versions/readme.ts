import { text } from '@keystead/jsonapi';
import { readWholeBlob } from '../../../kernel/blobs/blobs';
import { includable, serializerOf } from '../../../kernel/endpoints/endpoint';
import { organizationsOf, type RunTarget, readsRun } from '../runs/policy';
import { findMany } from './configuration-version';

/** The README.md of a workspace, with the id of the configuration it came with. */
interface Readme extends RunTarget {
  readonly id: string;
  readonly text: string;
}

const readmeSerializer = serializerOf<Readme>()({
  type: 'workspace-readme',
  shape: {
    'raw-markdown': text,
  },
  id: ({ id }) => id,
  attributes: ({ text }) => ({ 'raw-markdown': text }),
});

/** README.md in answers about workspaces that include it. Spec: Workspace (relationships readme). */
export const readmeIncluded = includable<Readme>({
  serializer: readmeSerializer,
  load: async (db, ids, { keyring }) => {
    const uploaded = (await findMany(db, ids)).filter(({ status }) => status === 'uploaded');
    const found = uploaded.map(async ({ id, organizationId, workspace, readmeBlobId }) => {
      const bytes = readmeBlobId ? await readWholeBlob(db, keyring, readmeBlobId) : undefined;
      return bytes ? [{ id, organizationId, workspace, text: bytes.toString('utf8') }] : [];
    });
    return (await Promise.all(found)).flat();
  },
  visible: readsRun,
  organizationsOf,
});
