import { z } from 'zod';
import { single } from '../../sdk/collection';
import { bool } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { keptDuration, secondsOf } from './kept-duration';

/** Settings of CRLs and OCSP responses. Durations are returned as they were sent. */
export const crlFields = recordFields({
  expiry: [keptDuration('given expiry could not be decoded').describe('How long a CRL is valid.'), '72h'],
  disable: [bool().describe('Serve empty CRLs.'), false],
  ocsp_disable: [bool().describe('Disable the OCSP responder.'), false],
  ocsp_expiry: [
    keptDuration('given ocsp_expiry could not be decoded').describe(
      'How long an OCSP response is valid. 0: only at the time of the response.',
    ),
    '12h',
  ],
  auto_rebuild: [bool().describe('Rebuild CRLs on a schedule, not at every revocation.'), false],
  auto_rebuild_grace_period: [
    keptDuration('given auto_rebuild_grace_period could not be decoded').describe(
      'The next CRL is built this long before the expiry of the current one.',
    ),
    '12h',
  ],
  enable_delta: [bool().describe('Build delta CRLs between complete CRLs.'), false],
  delta_rebuild_interval: [
    keptDuration('given delta_rebuild_interval could not be decoded').describe('How often delta CRLs are built.'),
    '15m',
  ],
  allow_expired_cert_revocation: [bool().describe('Allow expired certificates to be revoked.'), false],
});

/** The stored settings. */
export type CrlConfig = typeof crlFields.defaults;

export const crlConfig = single('config/crl', crlFields.input);

/** The settings with their defaults. */
export const findCrlConfig = async (storage: Storage): Promise<CrlConfig> =>
  (await crlConfig.find(storage)) ?? crlFields.defaults;

const times = ['expiry', 'ocsp_expiry', 'auto_rebuild_grace_period', 'delta_rebuild_interval'] as const;

/** Throws `invalid` for settings that contradict each other. */
export function checkCrlConfig(config: CrlConfig): void {
  for (const name of times) {
    const seconds = secondsOf(config[name]);
    if (seconds < 0 || (seconds === 0 && name !== 'ocsp_expiry')) {
      refuse(`${name} must be greater than ${name === 'ocsp_expiry' ? 'or equal to ' : ''}0 got: ${config[name]}`);
    }
  }
  const { expiry, auto_rebuild_grace_period: grace, delta_rebuild_interval: interval } = config;
  if (config.auto_rebuild && secondsOf(grace) >= secondsOf(expiry)) {
    refuse(
      `CRL auto-rebuilding grace period (${grace}) must be strictly shorter than CRL expiry (${expiry}) value when auto-rebuilding of CRLs is enabled`,
    );
  }
  if (config.enable_delta && secondsOf(interval) >= secondsOf(expiry)) {
    refuse(
      `CRL delta rebuild window (${interval}) must be strictly shorter than CRL expiry (${expiry}) value when delta CRLs are enabled`,
    );
  }
  if (config.enable_delta && !config.auto_rebuild) {
    refuse('Delta CRLs cannot be enabled when auto rebuilding is disabled as the complete CRL is always regenerated!');
  }
}

/** A response with only `success`. */
export const doneOutput = z.object({ success: z.boolean() });
