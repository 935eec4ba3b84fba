import type { BackgroundCall } from '../../sdk/call';
import { single } from '../../sdk/collection';
import type { Soon } from '../../sdk/soon';
import type { Storage } from '../../sdk/storage';
import { forgetAccounts, forgetOrders } from './acme/cleaning';
import { certificateOf, changeCa, findCa } from './ca';
import { readCertificate } from './certificate';
import { rotateLists } from './crl-build';
import { findCrlConfig } from './crl-config';
import { secondsOf } from './kept-duration';
import { forgetRevoked, listRevoked, noteRevoked } from './revocations';
import { authorityAbove } from './signing';
import { changeCertificate, findCertificates, forgetCertificate, listByEnd } from './stored-certificate';
import { autoTidyFields, hasWork, type TidyPlan } from './tidy-settings';

/** Progress of a tidy. Stored, so that any node can continue it. */
export interface TidyState {
  readonly plan: TidyPlan;
  readonly state: 'Running' | 'Cancelling' | 'Cancelled' | 'Finished';
  readonly startedAtMs: number;
  readonly finishedAtMs?: number;
  readonly removed: number;
  readonly removedRevoked: number;
  readonly associated: number;
  /** ACME orders and accounts deleted, and accounts checked. */
  readonly orders?: number;
  readonly accounts?: number;
  readonly accountsSeen?: number;
  /** Where the next page begins. */
  readonly after?: string;
  readonly pausedUntilMs: number;
}

const key = 'tidy';
const parse = JSON.parse as (text: string) => TidyState;

/** Auto-tidy settings. */
export const autoTidy = single('config/auto-tidy', autoTidyFields.input);

/** Progress of the latest tidy; undefined before the first. */
export const findTidy = (storage: Storage): Soon<TidyState | undefined> => storage.read(key, parse);

const isUnderWay = (state: TidyState | undefined): boolean =>
  state?.state === 'Running' || state?.state === 'Cancelling';

function changeTidy(
  storage: Storage,
  change: (state: TidyState | undefined, tx: Storage) => Promise<TidyState | undefined> | TidyState | undefined,
) {
  return storage.transaction(key, async (tx) => {
    const before = await findTidy(tx);
    const after = await change(before, tx);
    if (after && after !== before) tx.put(key, JSON.stringify(after));
    return { before, after };
  });
}

/** Starts a tidy; false if one is running. */
export async function startTidy(storage: Storage, nowMs: number, plan: TidyPlan): Promise<boolean> {
  const { before, after } = await changeTidy(storage, (state) =>
    isUnderWay(state)
      ? state
      : { plan, state: 'Running', startedAtMs: nowMs, removed: 0, removedRevoked: 0, associated: 0, pausedUntilMs: 0 },
  );
  return after !== before;
}

/** Stops a tidy after its current page; false if none is running. */
export async function cancelTidy(storage: Storage): Promise<boolean> {
  const { before } = await changeTidy(storage, (state) =>
    state?.state === 'Running' ? { ...state, state: 'Cancelling' } : state,
  );
  return isUnderWay(before);
}

const stepMs = 3000;

/** Continues a running tidy operation for a while, or starts one if auto-tidy is due. */
export async function goOnTidying({ storage, nowMs }: BackgroundCall): Promise<void> {
  const state = await findTidy(storage);
  if (!isUnderWay(state)) {
    const settings = await autoTidy.find(storage);
    const dueAtMs = (state?.finishedAtMs ?? 0) + (settings?.interval_duration ?? 0) * 1000;
    if (!settings?.enabled || !hasWork(settings) || nowMs < dueAtMs) return;
    const { enabled: _enabled, interval_duration: _interval, ...plan } = settings;
    if (!(await startTidy(storage, nowMs, plan))) return;
  }
  const until = performance.now() + stepMs;
  while (performance.now() < until && (await tidyPage(storage, nowMs)));
}

/** Tidies one page. Returns false if there is nothing left to do at present. */
async function tidyPage(storage: Storage, nowMs: number): Promise<boolean> {
  const { before, after } = await changeTidy(storage, async (state, tx) => {
    if (!state || !isUnderWay(state) || state.pausedUntilMs > nowMs) return state;
    if (state.state === 'Cancelling') return { ...state, state: 'Cancelled', finishedAtMs: nowMs };
    const { plan } = state;
    const page = await listByEnd(tx, { after: state.after, limit: plan.page_size });
    const leastBuffer = Math.min(plan.safety_buffer, plan.revoked_safety_buffer);
    const old = page.filter(({ endsAtMs }) => endsAtMs + leastBuffer * 1000 <= nowMs);
    const certificates = await findCertificates(
      tx,
      old.map(({ serial }) => serial),
    );
    let { removed, removedRevoked } = state;
    for (const { serial, endsAtMs } of old) {
      const certificate = certificates.get(serial);
      if (!certificate) continue;
      const { revokedAtMs, authority } = certificate;
      const isRevoked = revokedAtMs !== undefined;
      const [chosen, buffer] = isRevoked
        ? [plan.tidy_revoked_certs, plan.revoked_safety_buffer]
        : [plan.tidy_cert_store, plan.safety_buffer];
      if (!chosen || endsAtMs + buffer * 1000 > nowMs) continue;
      forgetCertificate(tx, serial, certificate);
      if (isRevoked) {
        forgetRevoked(tx, authority, { serial, seconds: Math.floor(revokedAtMs / 1000) });
        removedRevoked += 1;
      } else removed += 1;
    }
    const isLast = old.length < plan.page_size;
    const pausedUntilMs = nowMs + secondsOf(plan.pause_duration) * 1000;
    const next = { ...state, removed, removedRevoked, after: old.at(-1)?.key ?? state.after, pausedUntilMs };
    return isLast ? { ...next, state: 'Finished' as const, finishedAtMs: nowMs } : next;
  });
  if (after === before || !after) return false;
  if (after.state === 'Finished') await finish(storage, nowMs, after);
  return after.state === 'Running' && after.pausedUntilMs <= nowMs;
}

/** Final steps after the certificates. */
async function finish(storage: Storage, nowMs: number, { plan, removedRevoked }: TidyState): Promise<void> {
  if (plan.tidy_expired_issuers) {
    await changeCa(storage, (ca) => {
      const isOver = (id: string) =>
        id !== ca.default_issuer &&
        certificateOf(ca.issuers[id]!).notAfterMs + plan.issuer_safety_buffer * 1000 <= nowMs;
      const remaining = Object.entries(ca.issuers).filter(([id]) => !isOver(id));
      return remaining.length === Object.keys(ca.issuers).length
        ? ca
        : { ...ca, issuers: Object.fromEntries(remaining) };
    });
  }
  if (plan.tidy_acme) {
    const beforeMs = nowMs - plan.safety_buffer * 1000;
    const orders = (await forgetOrders(storage, 'open', beforeMs)) + (await forgetOrders(storage, 'done', beforeMs));
    const { seen: accountsSeen, forgotten: accounts } = await forgetAccounts(
      storage,
      nowMs - plan.acme_account_safety_buffer * 1000,
    );
    await changeTidy(storage, (state) => state && { ...state, orders, accounts, accountsSeen });
  }
  const associated = plan.tidy_revoked_cert_issuer_associations ? await associate(storage) : 0;
  if (associated > 0) await changeTidy(storage, (state) => state && { ...state, associated });
  const { auto_rebuild: byClock } = await findCrlConfig(storage);
  if (removedRevoked + associated > 0 && !byClock) await rotateLists(storage, nowMs, 'complete');
}

/** Adds revoked certificates to the CRLs of their issuer if the issuer was imported after them. */
async function associate(storage: Storage): Promise<number> {
  const ca = await findCa(storage);
  let count = 0;
  for await (const page of listRevoked(storage, '')) {
    for (const revoked of page) {
      await changeCertificate(storage, revoked.serial, (stored, tx) => {
        if (stored?.authority !== '') return stored;
        const authority = authorityAbove(ca, readCertificate(Buffer.from(stored.der, 'base64')));
        if (authority === '') return stored;
        forgetRevoked(tx, '', revoked);
        noteRevoked(tx, authority, revoked);
        count += 1;
        return { ...stored, authority };
      });
    }
  }
  return count;
}
