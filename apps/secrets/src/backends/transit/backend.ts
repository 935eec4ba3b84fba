import { backend } from '../../sdk/backend';
import { rotateWhenDue } from './auto-rotate';
import { backupPath, restorePaths } from './backup';
import { byokPaths } from './byok';
import { certificatePath, csrPath } from './certificates';
import { cacheConfigPath, keyConfigPath } from './config-keys';
import { deriveKeyPath } from './derive';
import { datakeyPaths, decryptPath, encryptPath, rewrapPath } from './encrypt';
import { exportPaths } from './export';
import { hashPaths } from './hash';
import { importPath, importVersionPath, wrappingKeyPath } from './import';
import { keyConfigurationPath, keyListPath, keyPath, rotatePath, softDeletePaths, trimPath } from './keys';
import { signPaths } from './sign';

/** The transit secrets engine: encrypts, signs and hashes with keys that do not leave the service. */
export const transit = backend({
  type: 'transit',
  kind: 'secret',
  summary: 'Encrypts, signs and verifies for applications. Keys stay in the service.',
  paths: [
    keyListPath,
    keyPath,
    keyConfigurationPath,
    rotatePath,
    trimPath,
    ...softDeletePaths,
    csrPath,
    certificatePath,
    encryptPath,
    decryptPath,
    rewrapPath,
    ...datakeyPaths,
    ...signPaths,
    ...hashPaths,
    ...exportPaths,
    ...byokPaths,
    backupPath,
    ...restorePaths,
    importPath,
    importVersionPath,
    wrappingKeyPath,
    deriveKeyPath,
    keyConfigPath,
    cacheConfigPath,
  ],
  tick: rotateWhenDue,
});
