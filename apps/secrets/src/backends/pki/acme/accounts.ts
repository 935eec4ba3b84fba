import { randomUUID } from 'node:crypto';
import { networkOf } from '@keystead/auth';
import { isObject } from '../../../sdk/coerce';
import type { Storage } from '../../../sdk/storage';
import { type Account, accounts, decideOwner, findOwner, forgetOwner, keepOwner } from './account';
import type { Directory } from './directory';
import { takeBinding } from './eab';
import { parseObject, readJwk, readJws, thumbprintOf, verifyJws } from './jws';
import { fail } from './problem';
import { type AccountRequest, type AcmeAnswer, byAccount, byKey, type SignedRequest } from './signed-request';

/** The maximum number of accounts that one network may create per hour when no external account binding is required. */
const mostPerHour = 100;
const mostContacts = 10;

function shown({ base }: Directory, account: Account): AcmeAnswer {
  const { status, contact, termsAgreed, binding } = account;
  return {
    body: {
      status,
      contact,
      termsOfServiceAgreed: termsAgreed,
      ...(binding && { externalAccountBinding: binding.sent }),
      orders: `${base}/orders`,
    },
    headers: { Location: `${base}/account/${account.id}` },
  };
}

function readContacts(sent: unknown): readonly string[] {
  if (sent === undefined || sent === null) return [];
  if (!Array.isArray(sent) || sent.length > mostContacts || !sent.every((one) => typeof one === 'string')) {
    return fail('invalidContact', `contact: at most ${mostContacts} addresses`);
  }
  for (const one of sent) {
    if (!/^mailto:/i.test(one)) fail('unsupportedContact', 'contact: only mailto: is supported');
    if (one.length > 300 || !/^mailto:[^\s@,?]+@[^\s@,?]+$/i.test(one))
      fail('invalidContact', 'contact: not an email address');
  }
  return sent;
}

/** Counts the accounts a network creates without an external account binding. */
async function countNewAccount(tx: Storage, address: string, nowMs: number): Promise<void> {
  const key = `acme/pace/${Math.floor(nowMs / 3600_000)}/${networkOf(address)}`;
  const count = Number((await tx.get(key)) ?? 0);
  if (count >= mostPerHour) {
    fail('rateLimited', `at most ${mostPerHour} accounts an hour from one network`, { 'Retry-After': '3600' });
  }
  tx.put(key, String(count + 1));
}

async function makeAccount(tx: Storage, request: SignedRequest): Promise<Account> {
  const { directory, payload = {}, jwk, url, thumbprint, call } = request;
  const { prefix, config } = directory;
  const { nowMs } = call;
  const agreed = payload.termsOfServiceAgreed === true;
  if (config.terms_of_service !== '' && !agreed) {
    const headers = { Link: `<${config.terms_of_service}>;rel="terms-of-service"` };
    fail('userActionRequired', 'the terms of service must be agreed to', headers);
  }
  const contact = readContacts(payload.contact);
  const sent = payload.externalAccountBinding;
  if (sent === undefined && config.eab_policy !== 'not-required') {
    fail('externalAccountRequired', 'an account needs externalAccountBinding with a key of new-eab');
  }
  const binding = sent === undefined ? undefined : await takeBinding(tx, sent, { jwk, url, prefix });
  if (!binding) await countNewAccount(tx, call.caller.address, nowMs);
  const account: Account = {
    ...{ id: randomUUID(), prefix, jwk, contact, status: 'valid', termsAgreed: agreed, createdAtMs: nowMs },
    ...(binding && { binding }),
  };
  accounts.put(tx, account.id, account);
  keepOwner(tx, prefix, thumbprint, account.id);
  return account;
}

/** Creates an account, or finds the account with this key. */
export const newAccount = byKey('Create an account for a key.', 'write-acme-new-account', async (request) => {
  const { directory, payload = {}, thumbprint, call } = request;
  const { account, isNew } = await decideOwner(call.storage, directory.prefix, thumbprint, async (tx) => {
    const id = await findOwner(tx, directory.prefix, thumbprint);
    const found = id === undefined ? undefined : await accounts.find(tx, id);
    if (found) return { account: found, isNew: false };
    if (payload.onlyReturnExisting === true) fail('accountDoesNotExist', 'no account has this key');
    return { account: await makeAccount(tx, request), isNew: true };
  });
  if (account.status !== 'valid') fail('unauthorized', `the account of this key is ${account.status}`);
  if (!isNew && directory.config.eab_policy === 'always-required' && !account.binding) {
    fail('externalAccountRequired', 'the account is not bound to a key of new-eab');
  }
  return { ...shown(directory, account), status: isNew ? 201 : 200 };
});

/** Shows or changes the account that signed the request. */
export const ownAccount = byAccount(
  'Read, change or deactivate the account that signed the request.',
  'write-acme-account-kid',
  async ({ call, directory, account, payload }) => {
    if (call.params.id !== account.id) fail('unauthorized', 'the request must be signed by this account');
    if (!payload) return shown(directory, account);
    const { status } = payload;
    if (status !== undefined && status !== 'valid' && status !== 'deactivated') {
      fail('malformed', 'status: an account can only be deactivated');
    }
    const contact = payload.contact === undefined ? undefined : readContacts(payload.contact);
    const after = await accounts.change(call.storage, account.id, (found) => {
      if (found?.status !== 'valid') return fail('unauthorized', 'the account is no longer valid');
      return { ...found, contact: contact ?? found.contact, status: status === 'deactivated' ? status : found.status };
    });
    return shown(directory, after);
  },
);

/** Replaces the key of an account (RFC 8555, 7.3.5); both keys sign the request. */
export const changeKey = byAccount(
  'Replace the key of the account that signed the request.',
  'write-acme-key-change',
  async ({ call, directory, account, payload, url, thumbprint }: AccountRequest) => {
    const { prefix, base } = directory;
    if (!payload) return fail('malformed', 'the payload must be a JWS');
    const inner = readJws(payload, 'the payload');
    if (inner.header.url !== url) fail('malformed', 'the payload was signed for another address');
    if (inner.header.nonce !== undefined || inner.header.kid !== undefined) {
      fail('malformed', 'the header of the payload must have jwk, and neither nonce nor kid');
    }
    const { jwk, key } = readJwk(inner.header.jwk);
    verifyJws(inner, key, 'the payload');
    const keyChange = parseObject(inner.payload.toString('utf8'), 'the payload of the payload');
    if (keyChange.account !== `${base}/account/${account.id}`)
      fail('malformed', 'account: must be the account that sends the request');
    if (!isObject(keyChange.oldKey) || thumbprintOf(readJwk(keyChange.oldKey).jwk) !== thumbprint) {
      fail('malformed', 'oldKey: must be the current key of the account');
    }
    const next = thumbprintOf(jwk);
    const after = await accounts.change(call.storage, account.id, async (found, tx) => {
      if (found?.status !== 'valid') return fail('unauthorized', 'the account is no longer valid');
      if (thumbprintOf(found.jwk) !== thumbprint)
        fail('unauthorized', 'the key of the account has changed in the meantime');
      const owner = await findOwner(tx, prefix, next);
      if (owner !== undefined) {
        fail('conflict', 'the key already belongs to an account', { Location: `${base}/account/${owner}` });
      }
      forgetOwner(tx, prefix, thumbprint);
      keepOwner(tx, prefix, next, account.id);
      return { ...found, jwk };
    });
    return shown(directory, after);
  },
);
