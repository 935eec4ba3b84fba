import { backend } from '../../sdk/backend';
import { configPath } from './config';
import { dataPath, versionPaths } from './data';
import { detailedMetadataPath, metadataPath, subkeysPath } from './metadata';

/** Key/value storage that keeps the versions of a secret. */
export const kvTwo = backend({
  type: 'kv',
  kind: 'secret',
  summary: 'key/value secret storage with versions',
  paths: [configPath, dataPath, ...versionPaths, metadataPath, detailedMetadataPath, subkeysPath],
});
