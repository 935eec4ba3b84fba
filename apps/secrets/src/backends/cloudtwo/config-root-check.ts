import { SimulatePrincipalPolicyCommand } from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { attempt, codeOf } from '../../sdk/cloud-error';
import { string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { data } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { CloudTwo } from './cloud';
import { connection, type Root, rootInForce } from './config-root';
import { type NeededRight, type NeedsContext, neededRights } from './needed-rights';
import { type Finding, probe } from './rights-probes';
import { type CloudTwoRole, roles } from './role-fields';
import { userName } from './user-name';

const CheckInput = z.object({
  role: string()
    .optional()
    .describe('Check only the permissions that this role needs. Default: the permissions for all roles.'),
});
const rightOutput = z.object({
  action: z.string(),
  resource: z.string(),
  needed_for: z.string(),
  allowed: z.boolean().nullable(),
  how: z.string(),
});
const CheckOutput = z.object({
  account: z.string(),
  arn: z.string(),
  missing: z.array(z.string()),
  unknown: z.array(z.string()),
  rights: z.array(rightOutput),
});

/** A dry run: checks which of the permissions that roles and rotation need the root credentials have. Decision 0023. */
export const rootCheckPath = (cloud: CloudTwo) => {
  const check = operation({
    summary: 'List the permissions that the root credentials lack. Changes nothing at the provider.',
    input: CheckInput,
    output: CheckOutput,
    async run({ input, storage, nowMs, warn }: Call<object, z.output<typeof CheckInput>>) {
      const report = await rightsReport(cloud, await rootInForce(storage), await rolesOf(storage, input.role), nowMs);
      if (report.missing.length > 0) warn(`permissions are missing: ${report.missing.join(', ')}`);
      if (report.rights.length === 0) warn('no role needs any permissions yet');
      return data(report);
    },
  });
  return path('config/root/check', {
    summary: 'Checks the permissions of the root credentials.',
    read: check,
    write: check,
  });
};

/** All roles, or the given role. Throws `invalid` if that role does not exist. */
async function rolesOf(storage: Storage, name: string | undefined): Promise<ReadonlyMap<string, CloudTwoRole>> {
  if (name) return new Map([[name, await roles.require(storage, name, `Role "${name}" not found`)]]);
  const names = (await roles.list(storage)).slice(0, mostRoles);
  const found = await Promise.all(names.map(async (one) => [one, await roles.find(storage, one)] as const));
  return new Map(found.filter((pair): pair is readonly [string, CloudTwoRole] => pair[1] !== undefined));
}
const mostRoles = 200;

async function rightsReport(cloud: CloudTwo, config: Root, roles: ReadonlyMap<string, CloudTwoRole>, nowMs: number) {
  const { iam, sts } = cloud.of(connection(config));
  const identity = await attempt('error calling GetCallerIdentity', () => sts.send(new GetCallerIdentityCommand({})));
  const arn = identity.Arn ?? '';
  const context: NeedsContext = {
    partition: arn.split(':')[1] || 'aws',
    account: identity.Account ?? '',
    userName: userName(config.username_template, 'IAM', { displayName: 'token', role: 'check' }, { nowMs }),
    ownUser: /:user\/(?:.*\/)?([^/]+)$/.exec(arn)?.[1],
    rotates: config.credential_source === 'static' && config.access_key !== '',
  };
  const needs = neededRights(roles, context);
  const simulated = await simulate(cloud, config, arn, needs);
  const rights = await mapSomeAtOnce(needs, async (need) => {
    // The trust policy of a role decides whether we may assume it, and the simulation does not check that.
    const simulatedRight = need.action === 'sts:AssumeRole' ? undefined : simulated?.get(nameOf(need));
    const { allowed, how } = simulatedRight ?? (await probe(iam, sts, need, context));
    return { action: need.action, resource: need.resource, needed_for: need.neededFor, allowed, how };
  });
  const actions = (allowed: boolean | null) => [
    ...new Set(rights.filter((right) => right.allowed === allowed).map(({ action }) => action)),
  ];
  return { account: context.account, arn, missing: actions(false), unknown: actions(null), rights };
}

/** The result of the provider's policy simulation; undefined if the root credentials may not use it. */
async function simulate(
  cloud: CloudTwo,
  config: Root,
  arn: string,
  needs: readonly NeededRight[],
): Promise<ReadonlyMap<string, Finding> | undefined> {
  const { iam } = cloud.of(connection(config));
  const role = /^arn:([^:]+):sts::(\d+):assumed-role\/([^/]+)\//.exec(arn);
  const PolicySourceArn = role ? `arn:${role[1]}:iam::${role[2]}:role/${role[3]}` : arn;
  const found = new Map<string, Finding>();
  try {
    for (const resource of new Set(needs.map((need) => need.resource))) {
      const some = needs.filter((need) => need.resource === resource);
      const { EvaluationResults = [] } = await iam.send(
        new SimulatePrincipalPolicyCommand({
          PolicySourceArn,
          ActionNames: some.map(({ action }) => action),
          ResourceArns: [resource],
        }),
      );
      for (const { EvalActionName = '', EvalDecision } of EvaluationResults) {
        found.set(nameOf({ action: EvalActionName, resource }), {
          allowed: EvalDecision === 'allowed',
          how: EvalDecision === 'explicitDeny' ? 'simulated: explicitly denied' : 'simulated',
        });
      }
    }
    return found;
  } catch (error) {
    // If the simulation is denied or fails, it shows nothing about the permissions.
    if (codeOf(error) !== '') return undefined;
    return attempt('error calling SimulatePrincipalPolicy', () => Promise.reject(error));
  }
}

const atOnce = 5;

/** Runs `run` for a few items at a time, because the provider's rate limits apply to the whole account. */
async function mapSomeAtOnce<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(run))));
  }
  return results;
}

function nameOf({ action, resource }: Pick<NeededRight, 'action' | 'resource'>): string {
  return `${action} ${resource}`;
}
