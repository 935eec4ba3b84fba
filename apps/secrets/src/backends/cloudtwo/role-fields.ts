import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { announced, commaList, document, duration, int, keyValues, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';

export const credentialTypes = ['iam_user', 'assumed_role', 'federation_token', 'session_token'] as const;
export type CredentialType = (typeof credentialTypes)[number];

/** The least remaining lifetime of reused credentials, in percent. */
export const reusePercent = { minimum: 0, maximum: 99 } as const;

/** The default path of users. */
export const defaultUserPath = '/';

/** The fields of a role that a client sets. */
export const roleFields = recordFields({
  policy_arns: [
    commaList().describe(
      'ARNs of managed policies. They are attached to users; for the other types they limit the permissions.',
    ),
    [],
  ],
  role_arns: [
    commaList().describe('ARNs of the roles that may be assumed; required for assumed_role, and only for it.'),
    [],
  ],
  policy_document: [
    document(string()).describe(
      'Policy document in JSON. It grants permissions to users; for the other types it limits them.',
    ),
    '',
  ],
  iam_groups: [
    commaList().describe(
      'Groups to which users are added. For the other types, the policies of the groups are combined with policy_document.',
    ),
    [],
  ],
  iam_tags: [keyValues().describe('Tags of users, as key=value strings or as a map.'), {}],
  default_sts_ttl: [duration().describe('Default lifetime; not for iam_user.'), 0],
  max_sts_ttl: [duration().describe('Maximum lifetime that requests may ask for; not for iam_user.'), 0],
  user_path: [announced(string(), { default: defaultUserPath }).describe('IAM path of users; only for iam_user.'), ''],
  permissions_boundary_arn: [string().describe('ARN of the permissions boundary of users.'), ''],
  wait_for_key: [
    duration().describe('How long to wait until a new key works, at most 30s; 0 does not wait. Only for iam_user.'),
    0,
  ],
  external_id: [
    string().describe('External ID that the trust policies of the roles require; only for assumed_role.'),
    '',
  ],
  session_tags: [keyValues().describe('Session tags, as key=value strings or as a map; only for assumed_role.'), {}],
  mfa_serial_number: [
    string().describe(
      'Serial number or ARN of the root user’s MFA device. Requests send its code in mfa_code. Only for session_token.',
    ),
    '',
  ],
  reuse_percent_left: [
    announced(int(), reusePercent).describe(
      'Return credentials created earlier for the same caller while at least this percentage of their lifetime is left. 0 always creates new ones.',
    ),
    0,
  ],
});

/** A role as stored. `legacy` was written with the older parameters, which tie each type to one of the two paths. */
export const CloudTwoRole = roleFields.input.extend({
  credential_types: z.array(z.enum(credentialTypes)),
  legacy: z.boolean(),
  invalid_data: z.string().optional(),
});
export type CloudTwoRole = z.output<typeof CloudTwoRole>;
export const roles = collection('roles/', CloudTwoRole);
