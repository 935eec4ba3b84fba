import type { BackgroundCall } from '../../../sdk/call';
import type { Storage } from '../../../sdk/storage';
import { accounts, forgetOwner } from './account';
import { thumbprintOf } from './jws';
import { forgetNonces } from './nonce';
import { forgetOrder, listByEnd, type OrderState, orders, ordersOf } from './order';

const pageSize = 500;
const pace = 'acme/pace/';

/** Deletes orders that expired before `beforeMs`, or whose certificate expired before that time. */
export async function forgetOrders(storage: Storage, state: OrderState, beforeMs: number): Promise<number> {
  let count = 0;
  let after: string | undefined;
  for (;;) {
    const page = await listByEnd(storage, state, { after, limit: pageSize });
    const expired = page.filter(({ endsAtMs }) => endsAtMs < beforeMs);
    for (const { id, endsAtMs } of expired) {
      await orders.change(storage, id, (order, tx) => {
        // Another request may have finalized the order in the meantime.
        if (!order || (order.certificate && state === 'open')) return order;
        forgetOrder(tx, order, endsAtMs);
        count++;
        return order;
      });
    }
    after = expired.at(-1)?.name;
    if (expired.length < pageSize) return count;
  }
}

interface AccountsTidied {
  readonly seen: number;
  readonly forgotten: number;
}

/** Deletes accounts from before `beforeMs` that have no orders. An account created again has a new id. */
export async function forgetAccounts(storage: Storage, beforeMs: number): Promise<AccountsTidied> {
  let [seen, forgotten] = [0, 0];
  let after: string | undefined;
  for (;;) {
    const ids = await storage.list('acme/account/', { after, limit: pageSize });
    seen += ids.length;
    for (const id of ids) {
      await accounts.change(storage, id, async (account, tx) => {
        if (!account || account.createdAtMs > beforeMs) return account;
        if ((await tx.list(ordersOf(id), { limit: 1 })).length > 0) return account;
        accounts.delete(tx, id);
        forgetOwner(tx, account.prefix, thumbprintOf(account.jwk));
        forgotten++;
        return account;
      });
    }
    after = ids.at(-1);
    if (ids.length < pageSize) return { seen, forgotten };
  }
}

/** Deletes old nonces and orders that failed. */
export async function cleanAcme({ storage, nowMs }: BackgroundCall): Promise<void> {
  await forgetNonces(storage, nowMs);
  const hour = Math.floor(nowMs / 3600_000);
  for (const folder of await storage.list(pace, { limit: 100 })) {
    if (Number(folder.slice(0, -1)) < hour) storage.deletePrefix(pace + folder);
  }
  await forgetOrders(storage, 'open', nowMs - 3600_000);
}
