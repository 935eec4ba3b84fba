import { verifyJwt } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { announced, anyCase, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { login } from '../../sdk/reply';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { type CloudOneDefaults, configInForce } from './config';
import type { DirectoryClient } from './directory-client';
import { checkResource } from './resource-check';
import type { ResourceClient } from './resource-client';
import { type CloudOneRole, findRole } from './role';

const LoginInput = z.object({
  role: anyCase(string()).optional().describe('Name of the role.'),
  jwt: secretString().optional().describe('Signed JWT from the instance identity service.'),
  subscription_id: string().optional().describe('Subscription of the machine.'),
  resource_group_name: string().optional().describe('Resource group of the machine.'),
  vm_name: announced(string(), { default: '' })
    .optional()
    .describe('Name of the machine; ignored when vmss_name is given.'),
  vmss_name: announced(string(), { default: '' }).optional().describe('Name of the machine’s scale set.'),
});

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const groupName = /^[\p{L}\p{N}\-_.()]{0,89}[\p{L}\p{N}\-_()]$/u;
const machineName = /^[A-Za-z]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?$/;

/** The objects of the method that exist longer than a call. */
export interface CloudOneParts {
  readonly defaults: CloudOneDefaults;
  readonly directory: DirectoryClient;
  readonly resources: ResourceClient;
}

/** Clears the caches of the directory and the resource manager. */
export function forgetCloud({ directory, resources }: Pick<CloudOneParts, 'directory' | 'resources'>): void {
  directory.forget();
  resources.forget();
}

/** Spec: Cloud-identity auth method (Login body), Authentication 2. */
export const loginPath = ({ defaults, directory, resources }: CloudOneParts) =>
  path('login', {
    summary: 'Log in with a token of the directory.',
    spec: 'Cloud-identity auth method',
    auth: 'none',
    write: {
      summary: 'Verify the token, check the role’s constraints, and issue a token.',
      input: LoginInput,
      judges: 'unguessable',
      async run({ input, storage, caller, nowMs, mount }) {
        const jwt = need('jwt', input.jwt);
        const roleName = need('role', input.role).toLowerCase();
        const role = await findRole(storage, roleName);
        if (!role) throw new Refusal('invalid', `invalid role name ${JSON.stringify(roleName)}`);
        if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
        const where = {
          subscription: format('subscription id', need('subscription_id', input.subscription_id), uuid),
          group: format('resource group name', need('resource_group_name', input.resource_group_name), groupName),
          machine: input.vm_name && !input.vmss_name ? format('vm name', input.vm_name, machineName) : '',
          scaleSet: input.vmss_name ? format('vmss_name', input.vmss_name, machineName) : '',
        };
        const config = await configInForce(storage, defaults);
        const claims = await verifyJwt(jwt, {
          issuer: await directory.issuer(config),
          audience: config.resource,
          algorithms: ['RS256'],
          keys: (header) => directory.keys(config, header),
          nowMs,
        });
        checkLifetime(role, claims, nowMs);
        const who = {
          oid: claim(claims, 'oid'),
          appid: claim(claims, 'appid'),
          xmsAzRid: claim(claims, 'xms_az_rid'),
          xmsMirid: claim(claims, 'xms_mirid'),
        };
        const groups = groupsOf(claims);
        checkIdentity(role, who.oid, groups);
        await checkResource(resources, config, role, where, who);
        const metadata = {
          resource_group_name: where.group,
          subscription_id: where.subscription,
          ...(where.machine && !where.scaleSet ? { vm_name: where.machine } : {}),
          ...(where.scaleSet ? { vmss_name: where.scaleSet } : {}),
          ...(who.appid ? { app_id: who.appid } : {}),
        };
        return login({
          alias: { name: who.oid, metadata },
          groupAliases: groups,
          displayName: `${mount.path.replace(/^auth\//, '').replace(/\/$/, '')}-${who.oid}`,
          metadata: { role: roleName, ...metadata },
          internal: { role: roleName },
          ...loginParams(role, config.generation),
        });
      },
    },
  });

function need(field: string, value: string | undefined): string {
  if (!value) throw new Refusal('invalid', `${field} is required`);
  return value;
}

function format(what: string, value: string, pattern: RegExp): string {
  if (!pattern.test(value)) throw new Refusal('invalid', `invalid ${what} ${JSON.stringify(value)}`);
  return value;
}

function claim(claims: Readonly<Record<string, unknown>>, name: string): string {
  const value = claims[name];
  return typeof value === 'string' ? value : '';
}

function groupsOf(claims: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(claims.groups)
    ? claims.groups.filter((group): group is string => typeof group === 'string')
    : [];
}

function checkLifetime(role: CloudOneRole, claims: Readonly<Record<string, unknown>>, nowMs: number): void {
  const most = role.max_jwt_exp ?? 0;
  if (most === 0) return;
  const from = typeof claims.iat === 'number' ? claims.iat : Math.floor(nowMs / 1000);
  if (Number(claims.exp) - from > most) {
    throw new Refusal(
      'denied',
      `the lifetime of the jwt is longer than the ${most} seconds that max_jwt_exp of the role allows`,
    );
  }
}

function checkIdentity(role: CloudOneRole, oid: string, groups: readonly string[]): void {
  if (!oid) throw new Refusal('denied', 'jwt has no oid claim');
  const principals = role.bound_service_principal_ids;
  if (principals.length > 0 && !principals.includes('*') && !principals.includes(oid)) {
    throw new Refusal('denied', 'service principal not authorized');
  }
  const bound = role.bound_group_ids;
  if (bound.length > 0 && !bound.includes('*') && !groups.some((group) => bound.includes(group))) {
    throw new Refusal('denied', 'groups not authorized');
  }
}
