import { algorithms } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { MethodConfig } from './types';

/** The bounds and defaults of a method's fields. Spec: TOTP MFA method. */
export const methodRules = {
  issuer: { maxLength: 256 },
  periodSeconds: { default: 30, minimum: 1, maximum: 3_600 },
  keySizeBytes: { default: 20, minimum: 10, maximum: 256 },
  // In pixels: drawing a larger picture blocks all other requests.
  qrSizePixels: { default: 200, minimum: 0, maximum: 1_024 },
  algorithm: { default: 'SHA1', enum: algorithms },
  digits: { default: 6, enum: [6, 8] },
  skew: { default: 1, enum: [0, 1] },
  // Zero attempts would lock out everyone, so clients that send it mean the default.
  maxValidationAttempts: { default: 5, minimum: 0, maximum: 100 },
  selfEnrolment: { default: false },
  recoveryCodes: { default: 0, minimum: 0, maximum: 20 },
  acceptsPasskeys: { default: false },
} as const;

const methodDefaults = Object.fromEntries(
  Object.entries(methodRules).flatMap(([field, rule]) => ('default' in rule ? [[field, rule.default]] : [])),
) as unknown as Omit<MethodConfig, 'issuer'>;

/** The minimum width in pixels. A narrower picture cannot be scanned. */
const narrowestPicture = 64;
/**
 * The maximum length of the issuer. It appears twice in the URL of the QR code, which can contain at most 2,953
 * characters.
 */
const longestIssuer = 1_024;

/** A method's unchecked fields. */
export type UncheckedConfig = {
  readonly [K in keyof MethodConfig]?: MethodConfig[K] extends number | string ? number | string : MethodConfig[K];
};

/** Checks the fields of a method. Throws `malformed` for the first bad one. Spec: TOTP MFA method. */
export function checkMethod(unchecked: UncheckedConfig): MethodConfig {
  const config = { issuer: '', ...methodDefaults, ...unchecked } as MethodConfig;
  const { keySizeBytes, qrSizePixels, recoveryCodes } = methodRules;
  const attempts =
    config.maxValidationAttempts === 0 ? methodDefaults.maxValidationAttempts : config.maxValidationAttempts;
  const checks: readonly [boolean, string, string][] = [
    [algorithms.includes(config.algorithm), 'algorithm', 'unrecognized algorithm'],
    [methodRules.digits.enum.includes(config.digits), 'digits', 'digits can only be 6 or 8'],
    [config.periodSeconds > 0, 'period', 'period must be greater than zero'],
    [
      config.periodSeconds <= methodRules.periodSeconds.maximum,
      'period',
      'period must not be greater than 3600 seconds',
    ],
    [methodRules.skew.enum.includes(config.skew), 'skew', 'skew must be 0 or 1'],
    [config.keySizeBytes > 0, 'key_size', 'key_size must be greater than zero'],
    [
      config.keySizeBytes >= keySizeBytes.minimum && config.keySizeBytes <= keySizeBytes.maximum,
      'key_size',
      `key_size must be between ${keySizeBytes.minimum} and ${keySizeBytes.maximum}`,
    ],
    [config.issuer !== '', 'issuer', 'issuer must be set'],
    [config.issuer.length <= methodRules.issuer.maxLength, 'issuer', 'issuer is longer than 256 characters'],
    [!/\p{Surrogate}/u.test(config.issuer), 'issuer', 'issuer contains an unpaired surrogate'],
    [
      encodedLength(config.issuer) <= longestIssuer,
      'issuer',
      `issuer is longer than ${longestIssuer} characters when it is written into an address`,
    ],
    [!/[\u0000-\u001F\u007F]/.test(config.issuer), 'issuer', 'issuer cannot contain control characters'],
    [attempts > 0, 'max_validation_attempts', 'max_validation_attempts must be greater than zero'],
    [
      attempts <= methodRules.maxValidationAttempts.maximum,
      'max_validation_attempts',
      'max_validation_attempts must not be greater than 100',
    ],
    [
      config.qrSizePixels === 0 ||
        (config.qrSizePixels >= narrowestPicture && config.qrSizePixels <= qrSizePixels.maximum),
      'qr_size',
      `qr_size must be 0 or between ${narrowestPicture} and ${qrSizePixels.maximum}`,
    ],
    [
      config.recoveryCodes >= recoveryCodes.minimum && config.recoveryCodes <= recoveryCodes.maximum,
      'recovery_codes',
      'recovery_codes must be between 0 and 20',
    ],
  ];
  const wrong = checks.find(([right]) => !right);
  if (wrong) throw new Refusal('malformed', wrong[2], [{ path: [wrong[1]], message: wrong[2] }]);
  return { ...config, maxValidationAttempts: attempts };
}

/** The length of a string in URL encoding. The string must be well-formed Unicode. */
function encodedLength(text: string): number {
  return /\p{Surrogate}/u.test(text) ? 0 : encodeURIComponent(text).length;
}
