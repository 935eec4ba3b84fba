import { algorithms } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { MethodConfig } from './types';

/** What a method has that says nothing else. Spec: TOTP MFA method. */
export const methodDefaults: Omit<MethodConfig, 'issuer'> = {
  periodSeconds: 30,
  keySizeBytes: 20,
  qrSizePixels: 200,
  algorithm: 'SHA1',
  digits: 6,
  skew: 1,
  maxValidationAttempts: 5,
  selfEnrolment: false,
  recoveryCodes: 0,
};

/** In pixels: a larger picture keeps everybody waiting while it is drawn. */
const widestPicture = 1_024;
/** As it stands, twice, in the address that the picture shows: one of 2,953 characters is the longest it can. */
const longestIssuer = 1_024;

/** A method's fields before they are known to make sense. */
export type UncheckedConfig = {
  readonly [K in keyof MethodConfig]?: MethodConfig[K] extends number | string ? number | string : MethodConfig[K];
};

/**
 * Checks the fields of a method as a whole. Throws `malformed` with the first thing wrong.
 * Spec: TOTP MFA method.
 */
export function checkMethod(given: UncheckedConfig): MethodConfig {
  const config = { issuer: '', ...methodDefaults, ...given } as MethodConfig;
  // Zero attempts would lock everybody out, so clients that send it mean the default.
  const attempts =
    config.maxValidationAttempts === 0 ? methodDefaults.maxValidationAttempts : config.maxValidationAttempts;
  const checks: readonly [boolean, string, string][] = [
    [algorithms.includes(config.algorithm), 'algorithm', 'unrecognized algorithm'],
    [config.digits === 6 || config.digits === 8, 'digits', 'digits can only be 6 or 8'],
    [config.periodSeconds > 0, 'period', 'period must be greater than zero'],
    [config.periodSeconds <= 3_600, 'period', 'period must not be greater than 3600 seconds'],
    [config.skew === 0 || config.skew === 1, 'skew', 'skew must be 0 or 1'],
    [config.keySizeBytes > 0, 'key_size', 'key_size must be greater than zero'],
    [config.keySizeBytes >= 10 && config.keySizeBytes <= 256, 'key_size', 'key_size must be between 10 and 256'],
    [config.issuer !== '', 'issuer', 'issuer must be set'],
    [config.issuer.length <= 256, 'issuer', 'issuer is longer than 256 characters'],
    [!/\p{Surrogate}/u.test(config.issuer), 'issuer', 'issuer holds half of a character'],
    [
      encodedLength(config.issuer) <= longestIssuer,
      'issuer',
      `issuer is longer than ${longestIssuer} characters when it is written into an address`,
    ],
    [!/[\u0000-\u001F\u007F]/.test(config.issuer), 'issuer', 'issuer cannot contain control characters'],
    [attempts > 0, 'max_validation_attempts', 'max_validation_attempts must be greater than zero'],
    [attempts <= 100, 'max_validation_attempts', 'max_validation_attempts must not be greater than 100'],
    [
      config.qrSizePixels === 0 || (config.qrSizePixels >= 64 && config.qrSizePixels <= widestPicture),
      'qr_size',
      `qr_size must be 0 or between 64 and ${widestPicture}`,
    ],
    [
      config.recoveryCodes >= 0 && config.recoveryCodes <= 20,
      'recovery_codes',
      'recovery_codes must be between 0 and 20',
    ],
  ];
  const wrong = checks.find(([right]) => !right);
  if (wrong) throw new Refusal('malformed', wrong[2], [{ path: [wrong[1]], message: wrong[2] }]);
  return { ...config, maxValidationAttempts: attempts };
}

/** Of text without halves of characters. */
function encodedLength(text: string): number {
  return /\p{Surrogate}/u.test(text) ? 0 : encodeURIComponent(text).length;
}
