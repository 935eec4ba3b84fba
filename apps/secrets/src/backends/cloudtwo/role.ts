import { Refusal } from '@keystead/refusal';
import { document, oneOf, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { data, empty, listed, missing } from '../../sdk/reply';
import { type CloudTwoRole, credentialTypes, roleFields, roles } from './role-fields';
import { fromLegacy, legacyMix } from './role-legacy';
import { roleFaults } from './role-rules';

const unrecognised = (value: string) => invalidRole([`unrecognized credential type: ${value}`]);

const RoleInput = roleFields.input.extend({
  credential_type: oneOf(credentialTypes, unrecognised).optional().describe('Credential type of the role.'),
  policy: document(string()).optional().describe('Older form: a policy document in JSON.'),
  arn: string().optional().describe('Older form: the ARN of a policy or of a role.'),
});
const { defaults } = roleFields;

/** The names of the roles. Spec: Cloud-provider engine. */
export const roleListPath = namesPath('roles', roles, {
  summary: 'The roles of this engine.',
  spec: 'Cloud-provider engine',
  list: 'List the roles.',
});

/** One role. Spec: Cloud-provider engine (Role). */
export const rolePath = path('roles/:name', {
  summary: 'A role: which credentials are issued.',
  spec: 'Cloud-provider engine',
  params: { name: 'name-at' },
  stored: ({ params, storage }) => roles.find(storage, params.name),
  read: {
    summary: 'Read a role.',
    async run({ params, storage }) {
      const role = await roles.find(storage, params.name);
      return role ? data(shownRole(role)) : missing;
    },
  },
  write: {
    summary: 'Create a role, or change some of its fields.',
    update: 'merge',
    defaults,
    input: RoleInput,
    run({ params, input, fields, stored, storage, warn }) {
      const before = stored as CloudTwoRole | undefined;
      if (fields.policy != null && fields.arn != null) {
        throw listed('invalid', 'only one of policy or arn should be provided');
      }
      if (before?.invalid_data) warn(`Invalid data of "${before.invalid_data}" cleared out of role`);
      if (fields.policy != null || fields.arn != null) {
        const mix = legacyMix(fields);
        if (mix) throw new Refusal('invalid', mix);
        warn('Detected use of legacy role or policy parameter. Please upgrade to use the new parameters.');
        roles.put(storage, params.name, { ...defaults, ...fromLegacy(input.policy, input.arn) });
        return empty;
      }
      const { policy: _policy, arn: _arn, credential_type, ...rest } = input;
      const types = credential_type ? [credential_type] : before && !before.legacy ? before.credential_types : [];
      const role: CloudTwoRole = {
        ...pick(rest),
        policy_document: compact(rest.policy_document),
        credential_types: types,
        legacy: false,
      };
      const faults = roleFaults(role);
      if (faults.length > 0) throw new Refusal('invalid', invalidRole(faults));
      roles.put(storage, params.name, role);
      return empty;
    },
  },
  delete: {
    summary: 'Delete a role. Its credentials remain valid until their leases end.',
    async run({ params, storage }) {
      if (!(await roles.find(storage, params.name))) return missing;
      roles.delete(storage, params.name);
      return empty;
    },
  },
});

function pick(from: typeof defaults): typeof defaults {
  const picked = {} as Record<string, unknown>;
  for (const key of Object.keys(defaults) as (keyof typeof defaults)[]) picked[key] = from[key] ?? defaults[key];
  return picked as typeof defaults;
}

/** A policy document without its blanks; refused if it is not JSON. */
function compact(document: string): string {
  if (document === '') return '';
  try {
    const parsed: unknown = JSON.parse(document);
    if (typeof parsed === 'object' && parsed !== null) return JSON.stringify(parsed);
  } catch {
    // refused below, together with JSON that is not an object
  }
  throw new Refusal('invalid', `cannot parse policy document: ${JSON.stringify(document)}`);
}

function invalidRole(faults: readonly string[]): string {
  const count = faults.length === 1 ? '1 error' : `${faults.length} errors`;
  const list = `${count} occurred:\n${faults.map((fault) => `\t* ${fault}\n`).join('')}\n`;
  return `error(s) validating supplied role data: ${JSON.stringify(list)}`;
}

function shownRole(role: CloudTwoRole): Record<string, unknown> {
  const orNull = <T>(list: readonly T[]) => (list.length > 0 ? list : null);
  return {
    credential_type: role.credential_types.join(','),
    credential_types: role.credential_types,
    default_sts_ttl: role.default_sts_ttl,
    iam_groups: orNull(role.iam_groups),
    iam_tags: Object.keys(role.iam_tags).length > 0 ? role.iam_tags : null,
    max_sts_ttl: role.max_sts_ttl,
    permissions_boundary_arn: role.permissions_boundary_arn,
    policy_arns: orNull(role.policy_arns),
    policy_document: role.policy_document,
    role_arns: orNull(role.role_arns),
    user_path: role.user_path,
    ...(role.wait_for_key ? { wait_for_key: role.wait_for_key } : {}),
    ...(role.external_id ? { external_id: role.external_id } : {}),
    ...(Object.keys(role.session_tags ?? {}).length > 0 ? { session_tags: role.session_tags } : {}),
    ...(role.mfa_serial_number ? { mfa_serial_number: role.mfa_serial_number } : {}),
    ...(role.reuse_percent_left ? { reuse_percent_left: role.reuse_percent_left } : {}),
    ...(role.invalid_data ? { invalid_data: role.invalid_data } : {}),
  };
}
