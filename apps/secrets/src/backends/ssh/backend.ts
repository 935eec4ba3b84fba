import { backend } from '../../sdk/backend';
import { issuerPaths } from './issuers';
import { otpPaths, otpSecret } from './otp';
import { rolePaths } from './roles';
import { signPaths } from './sign';
import { zeroAddressPath } from './zero-address';

/** The SSH secrets engine: certificates and one-time passwords. */
export const ssh = backend({
  type: 'ssh',
  kind: 'secret',
  summary: 'Signs SSH certificates of users and hosts, and creates one-time passwords for hosts.',
  paths: [...issuerPaths, ...rolePaths, ...signPaths, ...otpPaths, zeroAddressPath],
  secrets: { secret_otp_type: otpSecret },
});
