import type { Storage } from '../../../sdk/storage';
import { type Authorization, authorizations, statusOf } from './authorization';
import type { Identifier } from './identifier';
import { records } from './record';

/** An ACME order. */
export interface Order {
  readonly id: string;
  readonly account: string;
  readonly identifiers: readonly Identifier[];
  readonly authorizations: readonly string[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly notBefore?: string;
  readonly notAfter?: string;
  /** Id of the certificate that the order replaces (RFC 9773). */
  readonly replaces?: string;
  /** The issued certificate. */
  readonly certificate?: { readonly serial: string; readonly issuer: string; readonly madeAtMs: number };
}

/** The orders of a mount. */
export const orders = records<Order>('acme/order/');

/** Prefix of an account's orders and the authorizations of its unfinished orders. */
export const ordersOf = (account: string): string => `acme/orders/${account}/`;
export const unfinishedOf = (account: string): string => `acme/unfinished/${account}/`;

/** Orders without (`open`) and with a certificate (`done`). */
export type OrderState = 'open' | 'done';

export const endKey = (state: OrderState, endsAtMs: number, id: string): string =>
  `acme/ends/${state}/${String(Math.floor(endsAtMs / 1000)).padStart(12, '0')} ${id}`;

/** A page of orders, earliest expiry first. */
export async function listByEnd(
  storage: Storage,
  state: OrderState,
  page: { readonly after?: string; readonly limit: number },
) {
  const names = await storage.list(`acme/ends/${state}/`, page);
  return names.map((name) => ({ name, id: name.slice(13), endsAtMs: Number(name.slice(0, 12)) * 1000 }));
}

/** The order that issued each certificate, and the order that replaces it. */
export const madeBy = records<{ readonly order: string; readonly account: string; readonly replacedBy?: string }>(
  'acme/certificate/',
);

/** The authorizations of an order that still exist. */
export async function authorizationsOf(storage: Storage, order: Order): Promise<readonly Authorization[]> {
  const found = await Promise.all(order.authorizations.map((id) => authorizations.find(storage, id)));
  return found.flatMap((one) => one ?? []);
}

/** The current status: ready once all authorizations are valid, invalid once one has failed. */
export function orderStatus(order: Order, authorizations: readonly Authorization[], nowMs: number) {
  if (order.certificate) return 'valid';
  if (order.expiresAtMs <= nowMs || authorizations.length < order.authorizations.length) return 'invalid';
  const states = authorizations.map((one) => statusOf(one, nowMs));
  if (states.every((state) => state === 'valid')) return 'ready';
  return states.every((state) => state === 'valid' || state === 'pending') ? 'pending' : 'invalid';
}

/** Deletes an order and its records. */
export function forgetOrder(storage: Storage, order: Order, endsAtMs: number): void {
  orders.delete(storage, order.id);
  for (const id of order.authorizations) {
    authorizations.delete(storage, id);
    storage.delete(unfinishedOf(order.account) + id);
  }
  storage.delete(ordersOf(order.account) + order.id);
  storage.delete(endKey(order.certificate ? 'done' : 'open', endsAtMs, order.id));
  if (order.certificate) madeBy.delete(storage, order.certificate.serial);
}
