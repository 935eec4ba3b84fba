import { type CloudTwoRole, type CredentialType, reusePercent } from './role-fields';

const stsTypes = 'assumed_role, federation_token and session_token';
const externalId = /^[\w+=,.@:/-]{2,1224}$/;
const device = /^[\w+=/:,.@-]{9,256}$/;
/** The longest allowed wait. It is short because the whole request has a time limit and also does other work. */
const longestWaitSeconds = 30;
const userPath = /^\/([\x21-\x7F]{0,510}\/)?$/;

/**
 * A message for each rule that a role violates, in the wording that clients expect; empty if the role is valid. Spec:
 * Cloud-provider engine (Role).
 */
export function roleFaults(role: CloudTwoRole): string[] {
  const faults: string[] = [];
  const type = role.credential_types.length === 1 ? role.credential_types[0] : undefined;
  if (role.credential_types.length === 0) return ['did not supply credential_type'];
  const short = type !== undefined && type !== 'iam_user';
  for (const field of ['default_sts_ttl', 'max_sts_ttl'] as const) {
    if (role[field] > 0 && !short) faults.push(`${field} parameter only valid for ${stsTypes} credential types`);
  }
  if (role.max_sts_ttl > 0 && role.default_sts_ttl > role.max_sts_ttl) {
    faults.push('"default_sts_ttl" value must be less than or equal to "max_sts_ttl" value');
  }
  if (role.user_path !== '') {
    if (type !== 'iam_user') faults.push('user_path parameter only valid for iam_user credential type');
    else if (!userPath.test(role.user_path)) {
      faults.push(
        `The specified value for user_path is invalid. It must match "^\\/([\\x21-\\x7F]{0,510}\\/)?$" regexp`,
      );
    }
  }
  if (role.permissions_boundary_arn !== '') {
    if (type !== 'iam_user') faults.push("cannot supply permissions_boundary_arn when credential_type isn't iam_user");
    else faults.push(...boundaryFaults(role.permissions_boundary_arn));
  }
  if (type === 'assumed_role') {
    if (role.role_arns.length === 0) faults.push('role_arns is required when credential_type is assumed_role');
  } else if (role.role_arns.length > 0) {
    faults.push("cannot supply role_arns when credential_type isn't assumed_role");
  }
  if ((type === 'iam_user' || type === 'federation_token') && !role.policy_arns.length && !role.policy_document) {
    faults.push(`must specify at least one of policy_arns or policy_document with ${type} credential_type`);
  }
  for (const [field, kind] of [
    ['role_arns', 'role'],
    ['policy_arns', 'policy'],
  ] as const) {
    for (const arn of role[field]) {
      const why = arnFault(arn, kind);
      if (why) faults.push(`invalid ${field} parameter: "${arn}": ${why}`);
    }
  }
  faults.push(...sessionFaults(role, type));
  if (role.wait_for_key > 0 && type !== 'iam_user') {
    faults.push('wait_for_key parameter only valid for iam_user credential type');
  }
  if (role.wait_for_key > longestWaitSeconds) faults.push(`wait_for_key cannot be longer than ${longestWaitSeconds}s`);
  const { minimum, maximum } = reusePercent;
  if (role.reuse_percent_left < minimum || role.reuse_percent_left > maximum) {
    faults.push(`reuse_percent_left must be between ${minimum} and ${maximum}`);
  }
  if (Object.keys(role.iam_tags).length > 50) faults.push('iam_tags holds more than 50 tags');
  return faults;
}

function boundaryFaults(arn: string): string[] {
  const why = arnFault(arn, 'policy');
  return why ? [`invalid permissions_boundary_arn parameter: ${why}`] : [];
}

/** Why a string is not an ARN of this kind in the identity API; undefined if it is one. */
function arnFault(arn: string, kind: 'policy' | 'role'): string | undefined {
  if (!arn.startsWith('arn:')) return 'arn: invalid prefix';
  const [, , service, , , resource] = arn.split(':');
  if (resource === undefined) return 'arn: not enough sections';
  if (service !== 'iam') return `expected a service of iam but got ${service}`;
  if (!resource.startsWith(`${kind}/`)) return `expected a resource type of ${kind} but got ${resource}`;
  return undefined;
}

/** Faults of the session settings, by credential type. Roles of an earlier version have no session settings. */
function sessionFaults(role: CloudTwoRole, type: CredentialType | undefined): string[] {
  const faults: string[] = [];
  const tags = Object.entries(role.session_tags ?? {});
  if (type !== 'assumed_role') {
    if (role.external_id) faults.push("cannot supply external_id when credential_type isn't assumed_role");
    if (tags.length > 0) faults.push("cannot supply session_tags when credential_type isn't assumed_role");
  } else {
    if (role.external_id && !externalId.test(role.external_id)) {
      faults.push('external_id must have 2 to 1224 characters out of letters, digits and _+=,.@:/-');
    }
    if (tags.length > 50) faults.push('session_tags holds more than 50 tags');
    if (tags.some(([key, value]) => key.length < 1 || key.length > 128 || value.length > 256)) {
      faults.push('session_tags holds a key of more than 128 or a value of more than 256 characters');
    }
  }
  if (type !== 'session_token') {
    if (role.mfa_serial_number) {
      faults.push("cannot supply mfa_serial_number when credential_type isn't session_token");
    }
    return faults;
  }
  if (role.mfa_serial_number && !device.test(role.mfa_serial_number)) {
    faults.push('mfa_serial_number is neither the serial number nor the ARN of a device');
  }
  if (role.mfa_serial_number && role.reuse_percent_left > 0) {
    faults.push('cannot supply reuse_percent_left with mfa_serial_number: each session is proven by a code');
  }
  // Such a session has all permissions of the root user, so parameters that could not limit them are refused.
  for (const field of ['policy_arns', 'iam_groups'] as const) {
    if (role[field].length > 0) faults.push(`cannot supply ${field} when credential_type is session_token`);
  }
  if (role.policy_document) faults.push('cannot supply policy_document when credential_type is session_token');
  return faults;
}
