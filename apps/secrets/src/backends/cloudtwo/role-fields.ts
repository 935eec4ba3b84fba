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
  policy_arns: [commaList().describe('Managed policies: attached to users, filters for the other types.'), []],
  role_arns: [commaList().describe('Roles that may be assumed; only for assumed_role, and required there.'), []],
  policy_document: [
    document(string()).describe('Policy document in JSON: rights of users, a filter for the other types.'),
    '',
  ],
  iam_groups: [
    commaList().describe('Groups users are added to; for the other types their policies are combined in.'),
    [],
  ],
  iam_tags: [keyValues().describe('Tags of users, as key=value strings or as a map.'), {}],
  default_sts_ttl: [duration().describe('Default lifetime; not for iam_user.'), 0],
  max_sts_ttl: [duration().describe('Maximum lifetime of a request; not for iam_user.'), 0],
  user_path: [announced(string(), { default: defaultUserPath }).describe('Path of users; only for iam_user.'), ''],
  permissions_boundary_arn: [string().describe('Policy that bounds the rights of users.'), ''],
  wait_for_key: [
    duration().describe('How long to wait until a new key answers, at most 30s; 0 does not wait. Only for iam_user.'),
    0,
  ],
  external_id: [
    string().describe('The external id that the trust policies of the roles require; only for assumed_role.'),
    '',
  ],
  session_tags: [
    keyValues().describe('Tags of sessions, as key=value strings or as a map; only for assumed_role.'),
    {},
  ],
  mfa_serial_number: [
    string().describe(
      'Serial number or ARN of the MFA device of the root user; requests send its mfa_code. Only for session_token.',
    ),
    '',
  ],
  reuse_percent_left: [
    announced(int(), reusePercent).describe(
      'Return a caller’s earlier credentials while at least this percentage of their lifetime is left; 0 always creates new ones.',
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
