import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { dueIndex } from '../../sdk/due';
import { Plan, rotationFields } from '../../sdk/rotation-plan';
import type { Storage } from '../../sdk/storage';
import { configFields, connectionFields } from './config-fields';

/** A stored connection. */
const Stored = configFields.input
  .extend(connectionFields.input.shape)
  .extend(rotationFields.input.partial().shape)
  .extend({
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

/** When the passwords of configured users are changed next. */
export const rootPlans = collection('root-rotation/', Plan);
const due = dueIndex('root-due/');
/** The connections whose password is due. */
export const listRootsDue = due.list;
const secondOf = (plan: Plan | undefined) => plan && Math.ceil(plan.tryAtMs / 1000);

/** Puts the plan that `change` answers in the place of the one there was, in the turn of the connection; undefined for none. */
export function changeRootPlan(
  storage: Storage,
  name: string,
  change: (tx: Storage, before: Plan | undefined) => Promise<Plan | undefined> | Plan | undefined | void,
): Promise<Plan | undefined> {
  return storage.transaction(`config/${name}`, async (tx) => {
    const before = await rootPlans.find(tx, name);
    const after = (await change(tx, before)) ?? undefined;
    due.move(tx, name, secondOf(before), secondOf(after));
    if (after) rootPlans.put(tx, name, after);
    else if (before) rootPlans.delete(tx, name);
    return after;
  });
}
