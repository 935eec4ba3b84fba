import { backend } from '../../sdk/backend';
import { fetchPaths } from './fetch';
import { importPaths } from './import';
import { intermediatePaths } from './intermediate';
import { issuePaths } from './issue';
import { issuerPaths } from './issuers';
import { keyPaths } from './keys';
import { rolePaths } from './roles';
import { rootPaths } from './root';
import { clusterPath, urlsPath } from './urls';

/** Issues certificates of X.509, and tells which are revoked. */
export const pki = backend({
  type: 'pki',
  kind: 'secret',
  summary: 'Issues and revokes certificates, with authorities whose keys stay here.',
  paths: [
    ...rootPaths,
    ...intermediatePaths,
    ...importPaths,
    ...issuerPaths,
    ...keyPaths,
    ...rolePaths,
    ...issuePaths,
    ...fetchPaths,
    urlsPath,
    clusterPath,
  ],
});
