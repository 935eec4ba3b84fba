import { publicDer } from '../../../sdk/asn1';
import type { Storage } from '../../../sdk/storage';
import { readCertificate } from '../certificate';
import { revokeKept } from '../revoke';
import { findCertificate } from '../stored-certificate';
import { authorizations, statusOf } from './authorization';
import { textOf } from './identifier';
import { madeBy, orders, ordersOf } from './order';
import { asProblem, fail } from './problem';
import { byEither } from './signed-request';

/** Revocation reasons (RFC 5280) that clients may give. */
const reasons = [0, 1, 3, 4, 5, 9];

/**
 * Revokes a certificate on request of its account, an account authorized for all names in it, or the holder of its
 * private key.
 */
export const revokeCertificate = byEither('Revoke a certificate.', 'write-acme-revoke-cert', async (request) => {
  const { call, payload, key, account } = request;
  const { storage, nowMs } = call;
  const { certificate: sent, reason = 0 } = payload ?? {};
  if (typeof sent !== 'string' || !/^[\w-]+$/.test(sent)) return fail('malformed', 'certificate: not in base64url');
  if (!reasons.includes(reason as number)) fail('badRevocationReason', `reason: one of ${reasons.join(', ')}`);
  const read = await asProblem('malformed', () => readCertificate(Buffer.from(sent, 'base64url')));
  const stored = await findCertificate(storage, read.serial);
  if (stored?.der !== read.der.toString('base64'))
    return fail('malformed', 'the certificate was not issued by this service');
  const issuance = await madeBy.find(storage, read.serial);
  const isOwn = account
    ? issuance !== undefined &&
      (issuance.account === account.id || (await hasProvenAll(storage, account.id, issuance.order, nowMs)))
    : publicDer(read.publicKey).equals(publicDer(key));
  if (!isOwn) fail('unauthorized', 'the request must be signed by the account or the key of the certificate');
  if (stored.revokedAtMs !== undefined) fail('alreadyRevoked', 'the certificate is already revoked');
  const { revokedAtMs } = await revokeKept(storage, nowMs, read.serial);
  if (revokedAtMs === undefined) fail('malformed', 'the certificate has expired');
  return { body: '' };
});

/** Whether an account has unexpired valid authorizations for all names of an order. */
async function hasProvenAll(storage: Storage, account: string, orderId: string, nowMs: number): Promise<boolean> {
  const order = await orders.find(storage, orderId);
  if (!order) return false;
  const ids = await storage.list(ordersOf(account), { limit: 1000 });
  const own = await Promise.all(ids.map((id) => orders.find(storage, id)));
  const proofs = await Promise.all(
    own.flatMap((one) => one?.authorizations ?? []).map((id) => authorizations.find(storage, id)),
  );
  const provenNames = new Set(
    proofs.flatMap((one) => (one && statusOf(one, nowMs) === 'valid' ? [textOf(one.identifier)] : [])),
  );
  return order.identifiers.every((identifier) => provenNames.has(textOf(identifier)));
}
