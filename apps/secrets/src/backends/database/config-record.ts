import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { dueRecords } from '../../sdk/due';
import { Plan, rotationFields } from '../../sdk/rotation-plan';
import type { Storage } from '../../sdk/storage';
import { configFields, connectionFields } from './config-fields';

/** A stored connection. */
const Stored = configFields.input
  .extend(connectionFields.input.shape)
  .extend(rotationFields.input.partial().shape)
  .extend({
    /** Fields that requests have set: responses include them even at their default. */
    sent: z.array(z.string()).optional(),
    /** Changes with every write: connections opened under another generation are not used. */
    generation: z.string(),
    /** The password that a rotation is about to set. */
    pending: z.string().optional(),
    /** When the service last set the password. */
    rotatedAtMs: z.number().optional(),
  });
export type ConnectionRecord = z.output<typeof Stored>;
/** The connections of a mount, by name. */
export const configs = collection('config/', Stored);

/** Finds a connection by name. Throws `invalid` if there is none. */
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

/** Next rotations of the passwords of configured users. */
export const rootPlans = collection('root-rotation/', Plan);
/** The index of due rotations. It is changed only under the lock of the connection. */
export const dueRoots = dueRecords(
  rootPlans,
  'root-due/',
  (name) => `config/${name}`,
  ({ tryAtMs }) => tryAtMs,
);
