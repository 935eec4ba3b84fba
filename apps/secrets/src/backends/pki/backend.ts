import { backend } from '../../sdk/backend';
import { acmePaths } from './acme/paths';
import type { Validations } from './acme/validations';
import { makeDueLists } from './crl-build';
import { crlPaths } from './crl-paths';
import { dryRunPath } from './dry-run';
import { fetchPaths } from './fetch';
import { importPaths } from './import';
import { importCertificatesPath } from './import-certificates';
import { intermediatePaths } from './intermediate';
import { issuePaths, leaseKind } from './issue';
import { issuerPaths } from './issuers';
import { keyPaths } from './keys';
import { ocspPaths } from './ocsp';
import { resignPaths } from './resign';
import { revokeLeased, revokePaths } from './revoke';
import { rolePaths } from './roles';
import { rootPaths } from './root';
import { tidyPaths } from './tidy';
import { goOnTidying } from './tidy-run';
import { clusterPath, urlsPath } from './urls';

/** The PKI secrets engine: issues X.509 certificates through the API and ACME, and publishes revocations. */
export const pki = (validations: Validations) =>
  backend({
    type: 'pki',
    kind: 'secret',
    expiring: 'certificates',
    summary: 'Issues and revokes certificates, with CAs whose keys stay in the service.',
    paths: [
      ...rootPaths,
      ...intermediatePaths,
      ...importPaths,
      importCertificatesPath,
      ...issuerPaths,
      ...keyPaths,
      ...rolePaths,
      ...issuePaths,
      dryRunPath,
      ...fetchPaths,
      ...revokePaths,
      ...crlPaths,
      ...ocspPaths,
      ...resignPaths,
      ...tidyPaths,
      urlsPath,
      clusterPath,
      ...acmePaths(validations),
    ],
    secrets: {
      [leaseKind]: { revoke: (internal, { storage, nowMs }) => revokeLeased(internal, storage, nowMs) },
    },
    async tick(call) {
      await makeDueLists(call);
      await goOnTidying(call);
      await validations.tick(call);
    },
  });
