import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { bool, commaList, oneOf, string } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import type { Soon } from '../../sdk/soon';
import type { Storage } from '../../sdk/storage';
import { boundByMount, loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import { canonicalArn, principalOf } from './arn';
import { clientInForce } from './client';
import type { AwsParts } from './parts';
import { refuseFields } from './refused-fields';

const fields = loginFields({
  auth_type: [
    oneOf(['iam', ''], (authType) => `unrecognized auth_type: ${authType}; only iam is built`).describe('iam.'),
    'iam',
  ],
  bound_iam_principal_arn: [
    commaList().describe('ARNs of the users and roles that may log in; they can end with the wildcard *.'),
    [],
  ],
  resolve_aws_unique_ids: [
    bool().describe(
      'Bind users and roles by their unique AWS ID, so that one that was deleted and recreated under the same name cannot log in. The IDs are looked up when the role is written, with the key of config/client. Once true, it cannot be set to false.',
    ),
    true,
  ],
});
const unbuilt = {
  bound_account_id: commaList(),
  bound_region: commaList(),
  bound_ami_id: commaList(),
  bound_iam_role_arn: commaList(),
  bound_iam_instance_profile_arn: commaList(),
  bound_ec2_instance_id: commaList(),
  bound_vpc_id: commaList(),
  bound_subnet_id: commaList(),
  role_tag: string(),
  allow_instance_migration: bool(),
  disallow_reauthentication: bool(),
  inferred_entity_type: string(),
  inferred_aws_region: string(),
};
type Unbuilt = keyof typeof unbuilt;
const unbuiltFields = Object.fromEntries(
  Object.entries(unbuilt).map(([name, field]) => [
    name,
    field.optional().describe('For EC2 logins, which are not supported.'),
  ]),
) as { [Name in Unbuilt]: z.ZodOptional<(typeof unbuilt)[Name]> };
const Role = fields.input.extend({
  role_id: z.string(),
  /** The AWS id of each given ARN. */
  ids: z.record(z.string(), z.string()),
});
/** A role as stored. */
export type AwsRole = z.output<typeof Role>;
const roles = collection('role/', Role);

/** Finds a role; the case of names is ignored. */
export const findRole = (storage: Storage, name: string): Soon<AwsRole | undefined> =>
  roles.find(storage, name.toLowerCase());

/** The names of the roles, at both paths that clients use. */
export const roleListPaths = ['role', 'roles'].map((pattern) =>
  namesPath(pattern, roles, { summary: 'The roles of this method.', list: 'List the roles.' }),
);

/** One role. */
export const rolePath = ({ principals }: AwsParts) =>
  recordPath('role/:role', roles, {
    folds: { role: 'case' },
    summary: 'A role: which AWS users and roles may log in, and the settings of their tokens.',
    read: {
      summary: 'Read a role.',
      output: fields.output.extend({ bound_iam_principal_id: z.array(z.string()), role_id: z.string() }),
      show: (role) => ({
        auth_type: 'iam',
        bound_iam_principal_arn: role.bound_iam_principal_arn,
        bound_iam_principal_id: Object.values(role.ids),
        resolve_aws_unique_ids: role.resolve_aws_unique_ids,
        role_id: role.role_id,
        ...showTokenParams(role),
      }),
    },
    write: {
      summary: 'Create a role, or change some of its fields. AWS users and roles bound by ID are looked up.',
      update: 'merge',
      // Not repeated after a conflict, because it calls AWS.
      once: true,
      defaults: fields.defaults,
      input: fields.input.extend(unbuiltFields),
      async run({ params, input, fields: sent, stored, storage, mount, warn }) {
        refuseFields(Object.fromEntries(Object.keys(unbuilt).map((name) => [name, input[name as Unbuilt]])));
        const before = stored as AwsRole | undefined;
        const normalized = settleTokenParams(ownFields(input), sent);
        if (normalized.bound_iam_principal_arn.length === 0)
          refuse('at least be one bound parameter should be specified on the role: bound_iam_principal_arn');
        for (const arn of normalized.bound_iam_principal_arn) checkArn(arn);
        if (before?.resolve_aws_unique_ids && !normalized.resolve_aws_unique_ids) {
          refuse('changing resolve_aws_unique_ids from true to false is not allowed');
        }
        boundByMount(normalized, mount, warn);
        const exact = normalized.bound_iam_principal_arn.filter((arn) => !arn.endsWith('*'));
        const ids: Record<string, string> = {};
        if (normalized.resolve_aws_unique_ids) {
          const config = await clientInForce(storage);
          // A principal that is named again may have been recreated; the other principals keep their ids.
          const isNamed = sent.bound_iam_principal_arn != null;
          for (const arn of exact) {
            ids[arn] = (!isNamed && before?.ids[arn]) || (await principals.find(config, principalOf(arn))).id;
          }
        }
        roles.put(storage, params.role, {
          ...normalized,
          auth_type: 'iam',
          role_id: before?.role_id ?? randomUUID(),
          ids,
        });
        return empty;
      },
    },
    delete: 'Delete a role. Deleting an absent role succeeds; its tokens can no longer be renewed.',
  });

function ownFields(input: z.output<typeof fields.input>) {
  const names = Object.keys(fields.input.shape) as (keyof typeof input)[];
  return Object.fromEntries(names.map((name) => [name, input[name]])) as typeof input;
}

function checkArn(arn: string): void {
  const at = arn.indexOf('*');
  if (at < 0) {
    principalOf(arn);
    return;
  }
  if (at !== arn.length - 1) refuse('bound_iam_principal_arn: * is allowed only at the end');
  // The pattern must at least name an account.
  if (!/^arn:aws[a-z-]*:iam::\d{12}:(?:\*|(?:user|role)\/)/.test(arn)) {
    refuse(`bound_iam_principal_arn: ${JSON.stringify(arn.slice(0, 300))} does not contain an account`);
  }
}

/** The ARN without its path, for exact bounds. */
export const boundCanonical = (arn: string): string => canonicalArn(principalOf(arn));
