import { durationText } from '../../sdk/duration';
import { refuse } from '../../sdk/refuse';
import type { Role } from './role';
import { requireTime } from './time';

/** Validity fields of a request. */
export interface AskedValidity {
  readonly ttl?: number;
  readonly not_after?: string;
  readonly not_before?: string;
}

/** Validity limits of the mount and the issuer. */
export interface ValidityBounds {
  readonly nowMs: number;
  readonly mount: { readonly defaultLeaseTtlSeconds: number; readonly maxLeaseTtlSeconds: number };
  /** Absent for roots. */
  readonly issuer?: { readonly notAfterMs: number; readonly behavior: string };
  warn(text: string): void;
}

type TimeRules = Pick<
  Role,
  'ttl' | 'max_ttl' | 'not_before' | 'not_before_bound' | 'not_before_duration' | 'not_after' | 'not_after_bound'
>;

/** The validity period of a certificate. Throws `invalid` if the role, the mount or the issuer forbids it. */
export function validityFor(role: TimeRules, request: AskedValidity, bounds: ValidityBounds) {
  const notAfterMs = notAfter(role, request, bounds);
  const notBeforeMs = notBefore(role, request, bounds.nowMs);
  const [from, until] = [stamp(notBeforeMs), stamp(notAfterMs)];
  const about = `The certificate's Not Before (${from})`;
  if (notBeforeMs > notAfterMs) refuse(`${about} is later than the certificate's Not After (${until})`);
  if (notBeforeMs === notAfterMs) refuse(`${about} is equal to the certificate's Not After (${until})`);
  return { notBeforeMs, notAfterMs };
}

const stamp = (ms: number): string => new Date(ms).toISOString();

function notBefore(role: TimeRules, request: AskedValidity, nowMs: number): number {
  const earliestMs = nowMs - role.not_before_duration * 1000;
  if (role.not_before !== '') return requireTime(role.not_before);
  if (!request.not_before) return earliestMs;
  const about = `not_before_bound is set to ${role.not_before_bound}.`;
  if (role.not_before_bound === 'forbid') refuse(`${about} not_before cannot be provided.`);
  const ms = requireTime(request.not_before);
  if (role.not_before_bound === 'duration' && ms < earliestMs) {
    refuse(
      `${about} Cannot satisfy request as it would result in notBefore of ${stamp(ms)} that is older than the allowed not_before_duration of ${durationText(role.not_before_duration)}`,
    );
  }
  return ms;
}

function notAfter(role: TimeRules, request: AskedValidity, { nowMs, mount, issuer, warn }: ValidityBounds): number {
  const { not_after_bound: bound } = role;
  const about = `not_after_bound is set to ${bound}.`;
  const named = role.not_after || request.not_after || '';
  if (role.not_after === '' && named !== '' && bound === 'forbid') refuse(`${about} not_after cannot be provided.`);
  if (request.ttl && named !== '') {
    refuse('Either ttl or not_after should be provided. Both should not be provided in the same request.');
  }
  const maxTtl = role.max_ttl || mount.maxLeaseTtlSeconds;
  let ttl = request.ttl || role.ttl || mount.defaultLeaseTtlSeconds;
  if (ttl > maxTtl) {
    const [longer, longest] = [durationText(ttl), durationText(maxTtl)];
    warn(`TTL "${longer}" is longer than permitted maxTTL "${longest}", so maxTTL is being used`);
    ttl = maxTtl;
  }
  let ms = named === '' ? nowMs + ttl * 1000 : requireTime(named);
  const result = () => `Cannot satisfy request as that would result in notAfter of ${stamp(ms)} that is beyond the`;
  if (bound === 'ttl-limited' && ms > nowMs + ttl * 1000) refuse(`${about} ${result()} TTL of ${durationText(ttl)}`);
  if (issuer && ms > issuer.notAfterMs && issuer.behavior !== 'permit') {
    if (issuer.behavior !== 'truncate') {
      refuse(
        `cannot satisfy request, as TTL would result in notAfter of ${stamp(ms)} that is beyond the expiration of the CA certificate at ${stamp(issuer.notAfterMs)}`,
      );
    }
    if (ms < nowMs) refuse(`cannot satisfy request, as NotAfter date ${stamp(ms)} is in the past`);
    ms = issuer.notAfterMs;
  }
  const last = ['', 'permit', 'forbid', 'ttl-limited'].includes(bound) ? Number.POSITIVE_INFINITY : Date.parse(bound);
  if (ms > last) refuse(`${about} ${result()} maximum timestamp of ${stamp(last)}`);
  return ms;
}
