import { createHash, randomUUID } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { SecretKind } from '../../sdk/backend';
import { stillThere } from '../../sdk/collection';
import { secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, secret } from '../../sdk/reply';
import { withinCidrs } from '../../sdk/token-params';
import { checkVisible } from './principals';
import { listed, roles, type SshRole } from './role';
import { zeroAddressRoles } from './zero-address';

/** The data of a one-time password, stored under its hash. */
interface KeptPassword {
  readonly ip: string;
  readonly username: string;
  readonly role_name: string;
}

const parse = JSON.parse as (text: string) => KeptPassword;
const entryOf = (password: string): string => `otp/${createHash('sha256').update(password).digest('hex')}`;

/** An IP address in canonical form. Throws `invalid`. */
function requireAddress(text: string): string {
  if (text === '') refuse('Missing ip');
  // Refuse networks and other number notations.
  const isAddress = /^[\da-f.:]+$/i.test(text) && (text.includes(':') || /^(\d+\.){3}\d+$/.test(text));
  if (!isAddress || !ipaddr.isValid(text) || /(^|\.)0\d/.test(text)) refuse(`Invalid IP ${JSON.stringify(text)}`);
  return ipaddr.process(text).toString();
}

const within = (address: string, networks: string): boolean => {
  const list = listed(networks);
  return list.length > 0 && withinCidrs(address, list);
};

const inNetworks = ({ cidr_list, exclude_cidr_list }: SshRole, address: string): boolean =>
  within(address, cidr_list) && !within(address, exclude_cidr_list);

/** The requested user. Throws `invalid` if the role does not allow it. */
function allowedUser({ default_user, allowed_users }: SshRole, requestedUser: string): string {
  const user = requestedUser || default_user || refuse("No default username registered. Use 'username' option");
  checkVisible(user, 'username');
  if (user === default_user) return user;
  if (allowed_users === '') {
    refuse('Username has to be either in allowed users list or has to be a default username');
  }
  if (allowed_users === '*' || listed(allowed_users).includes(user)) return user;
  refuse('Username is not present is allowed users list');
}

/** One-time passwords, and their verification for the helper on hosts. */
export const otpPaths = [
  path('creds/:role', {
    summary: 'One-time passwords for hosts.',
    params: { role: 'name-at' },
    paramDocs: { role: 'Name of the role.' },
    write: {
      summary: 'Create a one-time password for a host. It is valid until it is used or its lease ends.',
      operationId: 'generate-credentials',
      input: z.object({
        ip: string().optional().describe('IP address of the host.'),
        username: string().optional().describe('User on the host. Default: the role’s default_user.'),
      }),
      output: z.object({ ip: z.string(), key: z.string(), key_type: z.string(), port: z.int(), username: z.string() }),
      async run({ input, params, storage }) {
        const name = params.role;
        const sent = input.ip ?? '';
        if (sent === '') refuse('Missing ip');
        const role = await roles.require(storage, name, `Role ${JSON.stringify(name)} not found`);
        const username = allowedUser(role, input.username ?? '');
        const ip = requireAddress(sent);
        const isAllowed = (await zeroAddressRoles(storage)).includes(name) || inNetworks(role, ip);
        if (!isAllowed) refuse('Error validating IP: IP does not belong to role');
        if (role.key_type !== 'otp') refuse('key type unknown');
        const key = randomUUID();
        const password: KeptPassword = { ip, username, role_name: name };
        storage.put(entryOf(key), JSON.stringify(password));
        return secret('secret_otp_type', {
          data: { ip, key, key_type: 'otp', port: role.port, username },
          internal: { entry: entryOf(key) },
          renewable: false,
        });
      },
    },
  }),
  path('verify', {
    summary: 'Verifies one-time passwords. Called by the helper on a host.',
    auth: 'none',
    write: {
      summary: 'Verify a one-time password and return its user and IP address. The password cannot be used again.',
      operationId: 'verify-otp',
      judges: 'unguessable',
      input: z.object({
        otp: secretString()
          .optional()
          .describe('The one-time password. verify-echo-request only tests whether the service answers.'),
      }),
      output: z.object({
        ip: z.string().optional(),
        username: z.string().optional(),
        role_name: z.string().optional(),
        message: z.string().optional(),
      }),
      async run({ input: { otp = '' }, storage }) {
        if (otp === 'verify-echo-request') return data({ message: 'verify-echo-response' });
        const entry = entryOf(otp);
        if (!(await storage.read(entry, parse))) refuse('OTP not found');
        // Only one of several concurrent requests succeeds.
        const { ip, role_name, username } = await storage.transaction(entry, async (tx) => {
          const found = (await tx.read(entry, parse)) ?? refuse('OTP not found');
          tx.delete(entry);
          return found;
        });
        return data({ ip, role_name, username });
      },
    },
  }),
  path('lookup', {
    summary: 'The one-time password roles for a host.',
    write: {
      summary: 'List the roles that can create one-time passwords for a host.',
      operationId: 'list-roles-by-ip',
      input: z.object({ ip: string().optional().describe('IP address of the host.') }),
      output: z.object({ roles: z.array(z.string()).nullable() }),
      async run({ input, storage }) {
        const ip = requireAddress(input.ip ?? '');
        const all = await stillThere(await roles.list(storage), (name) => roles.find(storage, name));
        const fits = all.filter(([, role]) => within(ip, role.cidr_list)).map(([name]) => name);
        const names = [...new Set([...fits, ...(await zeroAddressRoles(storage))])];
        return data({ roles: names.length > 0 ? names : null });
      },
    },
  }),
];

/** Revokes one-time passwords with their leases. */
export const otpSecret: SecretKind = {
  async revoke({ entry }, { storage }) {
    storage.delete(String(entry));
  },
};
