import { Refusal } from '@keystead/refusal';
import type { InForce } from './config';
import type { ComputeResource, ResourceClient } from './resource-client';
import type { CloudOneRole } from './role';

/** A login's claims about its machine. */
export interface Whereabouts {
  readonly subscription: string;
  readonly group: string;
  readonly machine: string;
  readonly scaleSet: string;
}
/** The claims for a resource check. */
export interface IdentityClaims {
  readonly oid: string;
  readonly appid: string;
  readonly xmsAzRid: string;
  readonly xmsMirid: string;
}

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
const permits = (bounds: readonly string[], value: string) =>
  bounds.length === 0 || bounds.some((bound) => bound === '*' || same(bound, value));

/**
 * Refuses a login if its machine, group or subscription does not match the role. Makes no call if the role does not
 * restrict them. Throws `denied` with the name of the failed constraint.
 */
export async function checkResource(
  client: ResourceClient,
  config: InForce,
  role: CloudOneRole,
  where: Whereabouts,
  claims: IdentityClaims,
): Promise<void> {
  const bound = [role.bound_subscription_ids, role.bound_resource_groups, role.bound_locations, role.bound_scale_sets];
  if (bound.every((list) => list.length === 0)) return;
  const resource = await described(client, config, role, where, claims);
  if (resource) checkClaims(where, claims);
  const byIdentity = resource?.principalIds.some((id) => id !== '' && same(id, claims.oid)) ?? false;
  if (!byIdentity) await requireGroupIdentity(client, config, role, where, claims);
  if (!permits(role.bound_subscription_ids, where.subscription)) throw denied('subscription not authorized');
  // A login by identity is allowed if its identity was found in one of the bound groups, or if no groups are bound.
  if (byIdentity && !permits(role.bound_resource_groups, where.group)) throw denied('resource group not authorized');
  if (role.bound_locations.length > 0) {
    if (!resource?.location) throw denied('location is empty');
    if (!permits(role.bound_locations, resource.location)) throw denied('location not authorized');
  }
}

async function described(
  client: ResourceClient,
  config: InForce,
  role: CloudOneRole,
  where: Whereabouts,
  claims: IdentityClaims,
): Promise<ComputeResource | undefined> {
  if (where.scaleSet) {
    if (!permits(role.bound_scale_sets, where.scaleSet)) throw denied('scale set not authorized');
    const set = await client.scaleSet(config, where.subscription, where.group, where.scaleSet);
    if (!set.hasIdentity) throw denied('vmss client did not return identity information');
    return set;
  }
  if (where.machine) {
    if (role.bound_scale_sets.length > 0) throw denied("bound scale set defined but this vm isn't in a scale set");
    const machine = await client.machine(config, where.subscription, where.group, where.machine);
    if (!machine.hasIdentity) throw denied('vm client did not return identity information');
    return machine;
  }
  if (role.bound_scale_sets.length > 0) throw denied('bound scale set defined but no vmss_name was given');
  if (!claims.appid) throw denied('one of vm_name, vmss_name, or an appid JWT claim must be provided');
  return undefined;
}

/** The machine in the token must match the login's. */
function checkClaims(where: Whereabouts, { xmsAzRid, xmsMirid }: IdentityClaims): void {
  const paths = [xmsAzRid, xmsMirid].filter((claim) => claim !== '').map((claim) => claim.toLowerCase().split('/'));
  if (paths.length === 0) throw denied('xms_az_rid and xms_mirid claims are missing from token');
  const names = (kind: string, matches: (value: string) => boolean) =>
    paths.some((path) => path.some((segment, at) => segment === kind && matches(path[at + 1] ?? '')));
  if (where.scaleSet) {
    const set = where.scaleSet.toLowerCase();
    const fits =
      names('virtualmachines', (v) => v.startsWith(`${set}_`)) || names('virtualmachinescalesets', (v) => v === set);
    if (!fits) throw denied(`token claims do not match vmss_name ${where.scaleSet}`);
  } else if (!names('virtualmachines', (v) => v === where.machine.toLowerCase())) {
    throw denied(`token claims do not match vm_name ${where.machine}`);
  }
  if (!names('resourcegroups', (v) => v === where.group.toLowerCase())) {
    throw denied(`token claims do not match resource_group_name ${where.group}`);
  }
}

/**
 * Accepts a token whose client is a user-assigned identity of a bound group, or of the given group if none is bound.
 * Other groups are not checked, because the caller chooses the name.
 */
async function requireGroupIdentity(
  client: ResourceClient,
  config: InForce,
  role: CloudOneRole,
  where: Whereabouts,
  claims: IdentityClaims,
): Promise<void> {
  if (!claims.appid) throw denied('token object id does not match expected identities, and no app id was found');
  const bound = role.bound_resource_groups;
  const groups = bound.length === 0 || bound.includes('*') ? [where.group] : bound;
  const ids = await client.clientIds(config, where.subscription, groups);
  if ([...ids].some((id) => same(id, claims.appid))) return;
  throw denied('neither token object id nor token app id match expected identities');
}

function denied(reason: string): Refusal {
  return new Refusal('denied', reason);
}
