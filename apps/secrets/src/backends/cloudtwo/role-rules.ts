import type { Role } from './role';

const stsTypes = 'assumed_role and federation_token';
/** A request has other things to do as well, and an end. */
const longestWaitSeconds = 30;
const userPath = /^\/([\x21-\x7F]{0,510}\/)?$/;

/**
 * Every rule a role breaks, in the words clients know; empty where it is sound. Spec: Cloud-provider engine (Role).
 */
export function roleFaults(role: Role): string[] {
  const faults: string[] = [];
  const type = role.credential_types.length === 1 ? role.credential_types[0] : undefined;
  if (role.credential_types.length === 0) return ['did not supply credential_type'];
  const short = type === 'assumed_role' || type === 'federation_token';
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
  for (const field of ['role_arns', 'policy_arns'] as const) {
    for (const arn of role[field])
      if (!arn.startsWith('arn:')) faults.push(`invalid ${field} parameter: "${arn}": arn: invalid prefix`);
  }
  if (role.wait_for_key > 0 && type !== 'iam_user') {
    faults.push('wait_for_key parameter only valid for iam_user credential type');
  }
  if (role.wait_for_key > longestWaitSeconds) faults.push(`wait_for_key cannot be longer than ${longestWaitSeconds}s`);
  if (role.reuse_percent_left < 0 || role.reuse_percent_left > 99) {
    faults.push('reuse_percent_left must be between 0 and 99');
  }
  if (Object.keys(role.iam_tags).length > 50) faults.push('iam_tags holds more than 50 tags');
  return faults;
}

function boundaryFaults(arn: string): string[] {
  const wrong = (why: string) => [`invalid permissions_boundary_arn parameter: ${why}`];
  if (!arn.startsWith('arn:')) return wrong('arn: invalid prefix');
  const [, , service, , , resource] = arn.split(':');
  if (resource === undefined) return wrong('arn: not enough sections');
  if (service !== 'iam') return wrong(`expected a service of iam but got ${service}`);
  if (!resource.startsWith('policy/')) return wrong(`expected a resource type of policy but got ${resource}`);
  return [];
}
