import { randomUUID } from 'node:crypto';
import { publicDer } from '../../../sdk/asn1';
import { certificatePem } from '../../../sdk/pem';
import type { Storage } from '../../../sdk/storage';
import { findCa } from '../ca';
import { wholeSeconds } from '../certificate';
import { chainOf } from '../chain';
import { signLeaf } from '../leaf';
import { readyIssuer } from '../signing';
import { findCertificate } from '../stored-certificate';
import { requireTime } from '../time';
import { accounts } from './account';
import { authorizations, newAuthorization } from './authorization';
import { type Identifier, judgeIdentifiers, readIdentifiers, textOf } from './identifier';
import { authorizationsOf, endKey, madeBy, type Order, orderStatus, orders, ordersOf, unfinishedOf } from './order';
import { readOrdered } from './ordered-request';
import { asProblem, fail } from './problem';
import { readCertificateId } from './renewal';
import { type AccountRequest, type AcmeAnswer, byAccount } from './signed-request';

const lifetimeMs = 24 * 3600_000;
/** Limit on names in the unfinished orders of an account, because each name costs several outgoing requests. */
const mostUnfinished = 1000;
const mostListed = 1000;

async function shown({ call, directory }: AccountRequest, order: Order): Promise<AcmeAnswer> {
  const { base } = directory;
  const status = orderStatus(order, await authorizationsOf(call.storage, order), call.nowMs);
  return {
    body: {
      status,
      expires: new Date(order.expiresAtMs).toISOString(),
      identifiers: order.identifiers.map((one) => ({ type: one.type, value: textOf(one) })),
      ...(order.notBefore && { notBefore: order.notBefore }),
      ...(order.notAfter && { notAfter: order.notAfter }),
      ...(order.replaces && { replaces: order.replaces }),
      authorizations: order.authorizations.map((id) => `${base}/authorization/${id}`),
      finalize: `${base}/order/${order.id}/finalize`,
      ...(order.certificate && { certificate: `${base}/order/${order.id}/cert` }),
    },
    headers: {
      Location: `${base}/order/${order.id}`,
      ...((status === 'pending' || status === 'ready') && { 'Retry-After': '1' }),
    },
  };
}

/** The order in the path. An order of another account is treated as missing. */
async function requireOrder({ call, account }: AccountRequest): Promise<Order> {
  const order = await orders.find(call.storage, call.params.id ?? '');
  return order?.account === account.id ? order : fail('unauthorized', 'this account has no such order');
}

function readMoment(sent: unknown, name: string): Promise<string> | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  if (typeof sent !== 'string') return fail('malformed', `${name}: must be a time`);
  return asProblem('malformed', () => new Date(requireTime(sent)).toISOString());
}

/**
 * Records the order that replaces a certificate. There can be only one such order, and it must be of the account that
 * owns the certificate.
 */
async function noteReplaced(tx: Storage, sent: string, order: Pick<Order, 'id' | 'account' | 'identifiers'>) {
  const serial = await readCertificateId(tx, sent);
  const issuance = await madeBy.find(tx, serial);
  const before = issuance && (await orders.find(tx, issuance.order));
  if (!issuance || issuance.account !== order.account || !before)
    return fail('unauthorized', 'replaces: not a certificate of this account');
  const names = new Set(before.identifiers.map(textOf));
  if (!order.identifiers.some((one) => names.has(textOf(one))))
    fail('malformed', 'replaces: a certificate for other names');
  const other = issuance.replacedBy === undefined ? undefined : await orders.find(tx, issuance.replacedBy);
  // An earlier replacement order without a certificate is ignored.
  if (other?.certificate) fail('alreadyReplaced', 'replaces: another order has replaced it');
  madeBy.put(tx, serial, { ...issuance, replacedBy: order.id });
}

export const newOrder = byAccount('Order a certificate.', 'write-acme-new-order', async (request) => {
  const { call, directory, account, payload } = request;
  if (!payload) return fail('malformed', 'the payload is empty');
  const { storage, nowMs } = call;
  const identifiers: readonly Identifier[] = await readIdentifiers(payload.identifiers);
  judgeIdentifiers(directory.role, identifiers);
  const [notBefore, notAfter] = [
    await readMoment(payload.notBefore, 'notBefore'),
    await readMoment(payload.notAfter, 'notAfter'),
  ];
  if (notBefore && notAfter && notBefore >= notAfter) fail('malformed', 'notAfter: not later than notBefore');
  const { replaces } = payload;
  if (replaces !== undefined && typeof replaces !== 'string') return fail('malformed', 'replaces: not a string');
  const expiresAtMs = wholeSeconds(nowMs) + lifetimeMs;
  const toProve = identifiers.map((identifier) =>
    newAuthorization({ account: account.id, prefix: directory.prefix, identifier, expiresAtMs }),
  );
  const id = randomUUID();
  const order: Order = {
    ...{ id, account: account.id, identifiers, createdAtMs: nowMs, expiresAtMs },
    authorizations: toProve.map((one) => one.id),
    ...(notBefore && { notBefore }),
    ...(notAfter && { notAfter }),
    ...(replaces && { replaces }),
  };
  // Each order changes the account, so two concurrent orders cannot exceed the limit together.
  await accounts.change(storage, account.id, async (found, tx) => {
    if (found?.status !== 'valid') return fail('unauthorized', 'the account is no longer valid');
    const unfinished = await tx.list(unfinishedOf(account.id), { limit: mostUnfinished });
    if (unfinished.length + identifiers.length > mostUnfinished) {
      fail('rateLimited', `the unfinished orders of an account have at most ${mostUnfinished} names`, {
        'Retry-After': '3600',
      });
    }
    if (replaces) await noteReplaced(tx, replaces, order);
    for (const one of toProve) authorizations.put(tx, one.id, one);
    const proofs = toProve.map((one) => unfinishedOf(account.id) + one.id);
    for (const key of [ordersOf(account.id) + id, endKey('open', expiresAtMs, id), ...proofs]) tx.put(key, 'true');
    orders.put(tx, id, order);
    return { ...found, orderedAtMs: nowMs };
  });
  return { ...(await shown(request, order)), status: 201 };
});

export const readOrder = byAccount('Read an order.', 'write-acme-order-order-id', async (request) =>
  shown(request, await requireOrder(request)),
);

export const listOrders = byAccount('List the orders of the account.', 'write-acme-orders', async (request) => {
  const { call, account, directory } = request;
  const ids = await call.storage.list(ordersOf(account.id), { limit: mostListed });
  return { body: { orders: ids.map((id) => `${directory.base}/order/${id}`) } };
});

/**
 * Issues the certificate of an order. The check, the signature and the storage are one transaction. So only one of two
 * concurrent requests issues it, and after a crash the order is still ready.
 */
export const finalizeOrder = byAccount(
  'Issue the certificate of an order.',
  'write-acme-order-order-id-finalize',
  async (request) => {
    const { call, directory, payload } = request;
    const { nowMs, mount } = call;
    const { id } = await requireOrder(request);
    if (typeof payload?.csr !== 'string' || !/^[\w-]+$/.test(payload.csr))
      return fail('badCSR', 'csr: not in base64url');
    const der = Buffer.from(payload.csr, 'base64url');
    const after = await orders.change(call.storage, id, async (order, tx) => {
      if (!order) return fail('unauthorized', 'this account has no such order');
      const status = orderStatus(order, await authorizationsOf(tx, order), nowMs);
      if (status !== 'ready') fail('orderNotReady', `the order is ${status}`);
      judgeIdentifiers(directory.role, order.identifiers);
      const leaf = await readOrdered(directory.role, order.identifiers, der);
      if (leaf.publicKey.equals(publicDer(request.key))) fail('badCSR', 'csr has the key of the account');
      const { notAfter, notBefore } = order;
      const certificate = await asProblem('malformed', async () => {
        const ready = await readyIssuer(tx, directory.issuerRef);
        const issuer = { ...ready.issuer, leaf_not_after_behavior: 'truncate' };
        const validity = { not_after: notAfter, not_before: notBefore };
        return signLeaf(
          { storage: tx, mount, nowMs, warn: () => {} },
          { ...ready, issuer },
          directory.role,
          validity,
          leaf,
        );
      });
      const { issuer_id: issuer } = (await readyIssuer(tx, directory.issuerRef)).issuer;
      madeBy.put(tx, certificate.serial, { order: id, account: order.account });
      for (const one of order.authorizations) tx.delete(unfinishedOf(order.account) + one);
      tx.delete(endKey('open', order.expiresAtMs, id));
      tx.put(endKey('done', certificate.notAfterMs, id), 'true');
      return { ...order, certificate: { serial: certificate.serial, issuer, madeAtMs: nowMs } };
    });
    return shown(request, after);
  },
);

/** The certificate of an order, with its chain. */
export const readOrdersCertificate = {
  ...byAccount(
    'Read the certificate of an order, with its chain.',
    'write-acme-order-order-id-cert',
    async (request) => {
      const { storage } = request.call;
      const { certificate } = await requireOrder(request);
      if (!certificate) return fail('orderNotReady', 'the order has no certificate yet');
      const stored = await findCertificate(storage, certificate.serial);
      if (!stored) return fail('malformed', 'the certificate is no longer stored');
      const ca = await findCa(storage);
      const issuer = ca.issuers[certificate.issuer];
      const chain = issuer ? chainOf(ca, issuer).map((one) => one.certificate) : [];
      const pem = [stored.der, ...chain].map((der) => `${certificatePem(Buffer.from(der, 'base64'))}\n`);
      return { body: pem.join('') };
    },
  ),
  media: ['application/pem-certificate-chain'],
};
