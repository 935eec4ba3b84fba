import { backend } from '../../sdk/backend';
import { configPath } from './config';
import { dataPath, versionPaths } from './data';
import { detailedMetadataPath, metadataPath, subkeysPath } from './metadata';
import { relocationPaths } from './relocation';

/** Key/value storage that keeps the versions of a secret. */
export const kvTwo = backend({
  type: 'kv',
  kind: 'secret',
  expiring: 'secrets',
  summary: 'key/value secret storage with versions',
  elsewhere:
    'Invalid path for a versioned K/V secrets engine: secrets are below data/, what is known of them below metadata/. On a command line, use kv get, put, list or delete.',
  paths: [configPath, dataPath, ...versionPaths, metadataPath, detailedMetadataPath, subkeysPath, ...relocationPaths],
});
