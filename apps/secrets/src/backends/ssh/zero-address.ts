import { z } from 'zod';
import { single } from '../../sdk/collection';
import { commaList } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { roles } from './role';

const fields = z.object({
  roles: commaList()
    .optional()
    .describe('Roles that may create one-time passwords for any IP address, regardless of their CIDR blocks.'),
});
const entry = 'config/zeroaddress';
const settings = single(entry, fields);

/** Roles that allow any address. */
export const zeroAddressRoles = async (storage: Storage): Promise<readonly string[]> =>
  (await settings.find(storage))?.roles ?? [];

/** Removes a role from the list when it is deleted. */
export async function forgetZeroAddress(storage: Storage, name: string): Promise<void> {
  if (!(await zeroAddressRoles(storage)).includes(name)) return;
  await storage.transaction(entry, async (tx) => {
    const remaining = (await zeroAddressRoles(tx)).filter((role) => role !== name);
    if (await settings.find(tx)) settings.put(tx, { roles: remaining });
  });
}

/** Reads, writes and clears the list of roles that allow any address. */
export const zeroAddressPath = path(entry, {
  summary: 'Roles that can create one-time passwords for any host.',
  read: {
    summary: 'Read the roles for any host.',
    operationId: 'read-zero-address-configuration',
    output: z.object({ roles: z.array(z.string()) }),
    async run({ storage }) {
      const found = await settings.find(storage);
      return found ? data({ roles: found.roles ?? [] }) : missing;
    },
  },
  write: {
    summary: 'Set the roles for any host.',
    operationId: 'configure-zero-address',
    input: fields,
    async run({ input, storage }) {
      const names = input.roles ?? [];
      if (names.length === 0) refuse('Missing roles');
      await storage.transaction(entry, async (tx) => {
        for (const name of names) {
          if (!(await roles.find(tx, name))) refuse(`Role ${JSON.stringify(name)} does not exist`);
        }
        settings.put(tx, { roles: names });
      });
      return empty;
    },
  },
  delete: {
    summary: 'Remove all roles from this list.',
    operationId: 'delete-zero-address-configuration',
    run({ storage }) {
      settings.delete(storage);
      return empty;
    },
  },
});
