import { z } from 'zod';
import { collection } from '../../sdk/collection';
import type { Storage } from '../../sdk/storage';
import { configFields, connectionFields } from './config-fields';

/** A stored connection. */
const Stored = configFields.input.extend(connectionFields.input.shape).extend({
  /** Changes with every write: connections of another are not used. */
  generation: z.string(),
  /** The password that a rotation is about to set. */
  pending: z.string().optional(),
});
export type ConnectionRecord = z.output<typeof Stored>;
/** The connections of a mount, by name. */
export const configs = collection('config/', Stored);

/** The connection of a name. Throws `invalid` if there is none. */
export const connectionOf = (storage: Storage, name: string): Promise<ConnectionRecord> =>
  configs.require(storage, name, `failed to find entry for connection with name: "${name}"`);

/** Changes the current state of a connection; `change` returns undefined to leave it. */
export function changeConfig(
  storage: Storage,
  name: string,
  change: (config: ConnectionRecord) => ConnectionRecord | undefined,
): Promise<ConnectionRecord | undefined> {
  return storage.transaction(`config/${name}`, async (tx) => {
    const found = await configs.find(tx, name);
    const after = found && change(found);
    if (after) configs.put(tx, name, after);
    return after;
  });
}
