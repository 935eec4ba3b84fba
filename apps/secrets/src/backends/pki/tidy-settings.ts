import type { z } from 'zod';
import { bool, duration, int } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { keptDuration, secondsOf } from './kept-duration';

const daySeconds = 24 * 3600;

const rows = {
  tidy_cert_store: [bool().describe('Remove stored certificates that have expired and are not revoked.'), false],
  tidy_revoked_certs: [bool().describe('Remove expired revoked certificates, also from CRLs.'), false],
  tidy_invalid_certs: [bool().describe('Has no effect, because there are no unreadable values.'), false],
  tidy_revoked_cert_issuer_associations: [
    bool().describe('Find the issuers of certificates that were revoked before their issuers were imported.'),
    false,
  ],
  tidy_expired_issuers: [bool().describe('Remove expired issuers, except the default issuer.'), false],
  tidy_move_legacy_ca_bundle: [
    bool().describe('Has no effect: issuers have always been stored in the current format.'),
    false,
  ],
  tidy_acme: [
    bool().describe('Remove ACME orders whose certificates have expired, and accounts without orders.'),
    false,
  ],
  safety_buffer: [duration().describe('How long after their expiry certificates are removed.'), 3 * daySeconds],
  revoked_safety_buffer: [
    duration().describe('How long after their expiry revoked certificates are removed.'),
    3 * daySeconds,
  ],
  issuer_safety_buffer: [duration().describe('How long after their expiry issuers are removed.'), 365 * daySeconds],
  acme_account_safety_buffer: [
    duration().describe('Minimum age of ACME accounts without orders before they are removed.'),
    30 * daySeconds,
  ],
  pause_duration: [
    keptDuration('Error parsing pause_duration').describe('Pause after each page of certificates.'),
    '0s',
  ],
  page_size: [int().describe('Number of certificates per page.'), 1000],
} as const;

/** Selects what to remove. */
export const tidyFields = recordFields(rows);

/** The selection with the schedule. */
export const autoTidyFields = recordFields({
  enabled: [bool().describe('Enable automatic tidying.'), false],
  interval_duration: [
    duration().describe('Time between the end of a tidy operation and the next one.'),
    daySeconds / 2,
  ],
  ...rows,
});

/** The stored form of the selection. */
export type TidyPlan = typeof tidyFields.defaults;

const choices = [
  'tidy_cert_store',
  'tidy_revoked_certs',
  'tidy_invalid_certs',
  'tidy_revoked_cert_issuer_associations',
  'tidy_expired_issuers',
  'tidy_move_legacy_ca_bundle',
  'tidy_acme',
] as const;

/** Whether a plan has anything to do. */
export const hasWork = (plan: TidyPlan): boolean => choices.some((name) => plan[name]);

/** The selectable items, for the message if a request selects none. */
export const choicesText = choices.join(' / ');

const mostOfPage = 10_000;

/** Throws `invalid` for a plan that cannot run. */
export function checkPlan(plan: TidyPlan): void {
  for (const name of [
    'safety_buffer',
    'revoked_safety_buffer',
    'issuer_safety_buffer',
    'acme_account_safety_buffer',
  ] as const) {
    if (plan[name] < 1) refuse(`${name} must be greater than zero`);
  }
  if (secondsOf(plan.pause_duration) < 0) refuse('received invalid, negative pause_duration');
  if (plan.page_size < 5) refuse('page_size must be at least 5');
  if (plan.page_size > mostOfPage) refuse(`page_size must be at most ${mostOfPage}`);
}

/** The plan in a request. `revoked_safety_buffer` defaults to `safety_buffer`. */
export function planOf(input: Partial<z.output<typeof tidyFields.input>>): TidyPlan {
  const safety_buffer = input.safety_buffer ?? tidyFields.defaults.safety_buffer;
  const entries = Object.entries(input).filter(([name, value]) => name in tidyFields.defaults && value !== undefined);
  return { ...tidyFields.defaults, revoked_safety_buffer: safety_buffer, ...Object.fromEntries(entries) };
}
