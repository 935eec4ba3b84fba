import { Refusal } from '@keystead/refusal';
import type { CredentialType } from './role-fields';

const notBeside = [
  'role_arns',
  'policy_arns',
  'policy_document',
  'default_sts_ttl',
  'max_sts_ttl',
  'user_path',
  'permissions_boundary_arn',
  'iam_groups',
  'iam_tags',
  'external_id',
  'session_tags',
  'mfa_serial_number',
] as const;

/** The reason why the older parameters cannot be combined with the other fields of a request; undefined if they can. */
export function legacyMix(fields: Readonly<Record<string, unknown>>): string | undefined {
  const deprecated = 'cannot supply deprecated role or policy parameters with';
  if (fields.credential_type != null) return `${deprecated} an explicit credential_type`;
  const mixed = notBeside.find((field) => fields[field] != null);
  return mixed && `${deprecated} ${mixed}`;
}

/** Converts the older parameters to current ones. Throws `invalid` if they make no sense. */
export function fromLegacy(policy: string | undefined, arn: string | undefined) {
  const role = (
    credential_types: CredentialType[],
    more: { policy_arns?: string[]; role_arns?: string[]; policy_document?: string },
  ) => ({
    credential_types,
    legacy: true,
    ...more,
  });
  if (arn !== undefined) {
    const resource = arn.startsWith('arn:') ? (arn.split(':')[5] ?? '') : '';
    if (resource.startsWith('policy/')) return role(['iam_user'], { policy_arns: [arn] });
    if (resource.startsWith('role/')) return role(['assumed_role'], { role_arns: [arn] });
    throw unusable(arn);
  }
  try {
    const document: unknown = JSON.parse(policy ?? '');
    if (typeof document === 'object' && document !== null) {
      return role(['iam_user', 'federation_token'], { policy_document: JSON.stringify(document) });
    }
  } catch {
    // refused below, together with JSON that is not an object
  }
  throw unusable(policy ?? '');
}

function unusable(value: string): Refusal {
  return new Refusal('invalid', `unable to parse supplied data: ${JSON.stringify(value)}`);
}
