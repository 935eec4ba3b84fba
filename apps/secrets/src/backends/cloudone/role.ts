import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import { collection } from '../../sdk/collection';
import { commaList, int } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { empty } from '../../sdk/reply';
import { boundByMount, loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';

const fields = loginFields({
  bound_service_principal_ids: [commaList().describe('Service principal IDs that may log in; `*` allows all.'), []],
  bound_group_ids: [commaList().describe('Group IDs whose members may log in; `*` allows all.'), []],
  bound_locations: [commaList().describe('Locations in which the machine must be.'), []],
  bound_subscription_ids: [commaList().describe('Subscriptions to which the machine must belong.'), []],
  bound_resource_groups: [commaList().describe('Resource groups to which the machine must belong.'), []],
  bound_scale_sets: [commaList().describe('Scale sets to which the machine must belong.'), []],
});
const Role = fields.input.extend({
  max_jwt_exp: int().optional().describe('Maximum lifetime of the JWT at login, in seconds; 0 means no limit.'),
});
export type CloudOneRole = z.output<typeof Role>;
const roles = collection('role/', Role);

const bounds = [
  'bound_group_ids',
  'bound_locations',
  'bound_resource_groups',
  'bound_scale_sets',
  'bound_service_principal_ids',
  'bound_subscription_ids',
] as const;

/** Finds a role; the case of names is ignored. */
export const findRole = (storage: Parameters<typeof roles.find>[0], name: string) =>
  roles.find(storage, name.toLowerCase());

/** The names of the roles. Spec: Cloud-identity auth method. */
export const roleListPath = namesPath('role', roles, {
  summary: 'The roles of this method.',
  spec: 'Cloud-identity auth method',
  list: 'List the roles.',
});

const truncated =
  "max_ttl is greater than the system or backend mount's maximum TTL value; issued tokens' max TTL value will be truncated";

/** One role. Spec: Cloud-identity auth role. */
export const rolePath = recordPath('role/:name', roles, {
  folds: { name: 'case' },
  summary: 'A role: who may log in, and the settings of their tokens.',
  spec: 'Cloud-identity auth role',
  read: {
    summary: 'Read a role.',
    show(role) {
      const boundFields = Object.fromEntries(
        bounds.map((bound) => [bound, role[bound].length > 0 ? role[bound] : null]),
      );
      if (role.max_jwt_exp !== undefined) Object.assign(boundFields, { max_jwt_exp: role.max_jwt_exp });
      return { ...boundFields, ...showTokenParams(role) };
    },
  },
  write: {
    summary: 'Create a role, or change some of its fields.',
    update: 'merge',
    defaults: fields.defaults,
    input: Role,
    run({ params, input, fields: sent, storage, mount, warn }) {
      const role = settleTokenParams(input, sent);
      // A role without bounds would admit the whole tenant.
      if (bounds.every((bound) => role[bound].every((value) => value === '*'))) {
        throw new Refusal('invalid', 'must have at least one bound constraint when creating/updating a role');
      }
      if ((role.max_jwt_exp ?? 0) < 0) throw new Refusal('invalid', "'max_jwt_exp' cannot be negative");
      boundByMount(role, mount, warn, truncated);
      roles.put(storage, params.name, role);
      return empty;
    },
  },
  delete: 'Delete a role. Deleting an absent role succeeds; its tokens can no longer be renewed.',
});
