import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BackgroundCall } from '../../../sdk/call';
import type { Storage } from '../../../sdk/storage';
import { accounts } from './account';
import { type Authorization, authorizations, type Challenge, statusOf } from './authorization';
import { cleanAcme } from './cleaning';
import { findAcmeConfig } from './config';
import { thumbprintOf } from './jws';
import type { Probe } from './probe';
import { problemText } from './problem';

const due = 'acme/due/';

/** Storage key of an authorization that is due for validation. */
export const dueKey = (atMs: number, id: string): string => `${due}${String(Math.floor(atMs)).padStart(14, '0')} ${id}`;

/** After this time without a result, the node that validates is considered dead. */
const claimMs = 30_000;
/** Delay before each retry. */
const pausesMs = [5000, 10_000, 15_000, 20_000, 25_000];
const cleanEveryMs = 600_000;
const mostAtOnce = 100;
const perTick = 200;

const processing = ({ challenges }: Authorization) => challenges.find(({ status }) => status === 'processing');

/**
 * Stores the result of an attempt in the authorization, and schedules the next attempt if there is one. Returns the
 * changed authorization.
 */
function withChallenge(tx: Storage, one: Authorization, before: Challenge, after: Challenge): Authorization {
  if (before.dueAtMs !== undefined) tx.delete(dueKey(before.dueAtMs, one.id));
  if (after.dueAtMs !== undefined) tx.put(dueKey(after.dueAtMs, one.id), 'true');
  const { status } = after;
  return {
    ...one,
    status: status === 'valid' || status === 'invalid' ? status : one.status,
    challenges: one.challenges.map((other) => (other === before ? after : other)),
  };
}

/** Validates challenges in the background. Each attempt is claimed in the storage, so that only one node makes it. */
export class Validations {
  private underWay = 0;
  /** Time of the last cleanup of each mount. */
  private readonly cleaned = new LRUCache<string, number>({ max: 1000 });

  constructor(private readonly probe: Probe) {}

  /** Validates one authorization, if it is due and no other node is validating it. */
  async look({ storage, nowMs }: BackgroundCall, id: string): Promise<void> {
    // `tick` will try again.
    if (this.underWay >= mostAtOnce) return;
    this.underWay++;
    try {
      await this.lookNow(storage, nowMs, id);
    } finally {
      this.underWay--;
    }
  }

  /** Validates due challenges, and occasionally removes old records. */
  async tick(call: BackgroundCall): Promise<void> {
    if (!(await findAcmeConfig(call.storage)).enabled) return;
    const { uuid } = call.mount;
    const turn = Math.floor(call.nowMs / cleanEveryMs);
    if (this.cleaned.get(uuid) !== turn) {
      this.cleaned.set(uuid, turn);
      await cleanAcme(call);
    }
    const names = await call.storage.list(due, { limit: perTick });
    const ids = names.filter((name) => Number(name.slice(0, 14)) <= call.nowMs).map((name) => name.slice(15));
    await Promise.all(ids.map((id) => this.look(call, id)));
  }

  private async lookNow(storage: Storage, nowMs: number, id: string): Promise<void> {
    let claimed: Challenge | undefined;
    const found = await authorizations.change(storage, id, (one, tx) => {
      claimed = undefined;
      const challenge = one && processing(one);
      if (!challenge || challenge.dueAtMs! > nowMs) return one;
      if (statusOf(one, nowMs) !== 'pending') {
        const error = problemText('malformed', 'the authorization ended before it was proven');
        return withChallenge(tx, one, challenge, { ...challenge, dueAtMs: undefined, status: 'invalid', error });
      }
      claimed = { ...challenge, tries: challenge.tries + 1, dueAtMs: nowMs + claimMs };
      return withChallenge(tx, one, challenge, claimed);
    });
    if (!claimed || !found) return;
    const account = await accounts.find(storage, found.account);
    if (!account) return;
    const { type, token, tries } = claimed;
    const { dns_resolver: resolver } = await findAcmeConfig(storage);
    const keyAuthorization = `${token}.${thumbprintOf(account.jwk)}`;
    const digest = createHash('sha256').update(keyAuthorization).digest();
    const problem =
      account.status === 'valid'
        ? await this.probe.look({ type, token, keyAuthorization, digest, resolver, identifier: found.identifier })
        : problemText('unauthorized', 'the account is no longer valid');
    await authorizations.change(storage, id, (one, tx) => {
      const challenge = one && processing(one);
      // Another node has claimed the authorization, or it was deactivated.
      if (!challenge || challenge.tries !== tries || challenge.type !== type) return one;
      const after = { ...challenge, dueAtMs: undefined };
      if (!problem)
        return withChallenge(tx, one, challenge, { ...after, status: 'valid', validatedAtMs: nowMs, error: undefined });
      const pauseMs = account.status === 'valid' ? pausesMs[tries - 1] : undefined;
      const again: Challenge =
        pauseMs === undefined
          ? { ...after, status: 'invalid', error: problem }
          : { ...after, dueAtMs: nowMs + pauseMs, error: problem };
      return withChallenge(tx, one, challenge, again);
    });
  }
}
