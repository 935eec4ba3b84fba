import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Call } from '../../../sdk/call';
import { string } from '../../../sdk/fields';
import { operation } from '../../../sdk/path';
import { missing, type Reply } from '../../../sdk/reply';
import { type Account, accounts } from './account';
import { type AcmeParams, baseOf, type Directory, findDirectory } from './directory';
import { type Jwk, type Jws, keyOf, parseObject, readJwk, readJws, thumbprintOf, verifyJws } from './jws';
import { newNonce, readNonce, useNonce } from './nonce';
import { fail, problemReply, problems } from './problem';

const BodyInput = z.object({
  request: string().optional().describe('The body: a JWS in flattened JSON (RFC 8555, 6.2).'),
});

export type AcmeCall = Pick<
  Call<AcmeParams, z.output<typeof BodyInput>>,
  'storage' | 'params' | 'path' | 'input' | 'mount' | 'nowMs' | 'caller' | 'alongside' | 'headOnly'
>;

/** A request with a verified signature and nonce. */
export interface SignedRequest {
  readonly call: AcmeCall;
  readonly directory: Directory;
  /** The URL it was sent to. */
  readonly url: string;
  /** Undefined for POST-as-GET. */
  readonly payload: Readonly<Record<string, unknown>> | undefined;
  readonly jwk: Jwk;
  readonly thumbprint: string;
  readonly key: KeyObject;
}

/** A signed request of an account. */
export interface AccountRequest extends SignedRequest {
  readonly account: Account;
}

/** A response to an ACME client. */
export interface AcmeAnswer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Answers a request to an ACME directory: adds a nonce and turns errors into problem documents. Answers 404 if ACME is
 * disabled.
 */
export async function inDirectory(call: AcmeCall, run: (directory: Directory) => Promise<AcmeAnswer>): Promise<Reply> {
  let headers: Readonly<Record<string, string>> = {};
  try {
    const directory = await findDirectory(call);
    if (!directory) return missing;
    headers = {
      'Replay-Nonce': await newNonce(call.storage, call.nowMs),
      Link: `<${directory.base}/directory>;rel="index"`,
    };
    const answer = await run(directory);
    const more = answer.headers ?? {};
    const links = more.Link === undefined ? headers.Link! : `${headers.Link}, ${more.Link}`;
    const { status = 200, body } = answer;
    return { kind: 'raw', status, body, headers: { ...headers, ...more, Link: links } };
  } catch (error) {
    return problemReply(error, headers);
  }
}

async function open(call: AcmeCall, directory: Directory, by: 'account' | 'key' | 'either') {
  const { storage, nowMs } = call;
  const sent = Buffer.from(call.input.request ?? '', 'base64').toString('utf8');
  const jws = readJws(parseObject(sent, 'the body'));
  const { header } = jws;
  const url = `${await baseOf(storage)}/${call.path}`;
  if (header.url !== url) fail('unauthorized', `the body was not signed for the URL ${url}`);
  const nonce = await readNonce(storage, header.nonce, nowMs);
  if ((header.kid === undefined) === (header.jwk === undefined)) fail('malformed', 'the header needs kid or jwk');
  const signedBy = header.kid === undefined ? 'key' : 'account';
  if (by !== 'either' && by !== signedBy) fail('malformed', `the header needs ${by === 'key' ? 'jwk' : 'kid'}`);
  const account = header.kid === undefined ? undefined : await requireAccount(call, directory, header.kid);
  const { jwk, key } = account ? { jwk: account.jwk, key: keyOf(account.jwk) } : readJwk(header.jwk);
  verifyJws(jws, key);
  // Store the nonce only after the signature is verified.
  await useNonce(storage, nonce);
  if (account && account.status !== 'valid') fail('unauthorized', `the account is ${account.status}`);
  if (account && directory.config.eab_policy === 'always-required' && !account.binding) {
    fail('externalAccountRequired', 'the account is not bound to a key of new-eab');
  }
  return { call, directory, url, payload: payloadOf(jws), jwk, key, thumbprint: thumbprintOf(jwk), account };
}

const payloadOf = ({ payload }: Jws) =>
  payload.length === 0 ? undefined : parseObject(payload.toString('utf8'), 'the payload');

async function requireAccount({ storage }: AcmeCall, { base, prefix }: Directory, kid: unknown): Promise<Account> {
  const start = `${base}/account/`;
  const id = typeof kid === 'string' && kid.startsWith(start) ? kid.slice(start.length) : '';
  const account = /^[0-9a-f-]{36}$/.test(id) ? await accounts.find(storage, id) : undefined;
  // Accounts are valid in their own directory only.
  return account?.prefix === prefix ? account : fail('accountDoesNotExist', 'there is no such account here');
}

const declared = (summary: string, operationId: string, run: (call: AcmeCall) => Promise<Reply>) => ({
  ...operation<AcmeParams, typeof BodyInput>({
    summary,
    auth: 'none',
    responseFormat: 'raw',
    ...problems,
    judges: 'unguessable',
    wholeBody: { field: 'request', media: 'application/jose+json', only: true },
    input: BodyInput,
    run,
  }),
  operationId,
});

/** An operation signed by an account. */
export const byAccount = (
  summary: string,
  operationId: string,
  run: (request: AccountRequest) => Promise<AcmeAnswer>,
) =>
  declared(summary, operationId, (call) =>
    inDirectory(call, async (directory) => run((await open(call, directory, 'account')) as AccountRequest)),
  );

/** An operation signed by a key, with or without an account. */
export const byKey = (summary: string, operationId: string, run: (request: SignedRequest) => Promise<AcmeAnswer>) =>
  declared(summary, operationId, (call) =>
    inDirectory(call, async (directory) => run(await open(call, directory, 'key'))),
  );

/** An operation signed by an account or by a key. */
export const byEither = (
  summary: string,
  operationId: string,
  run: (request: SignedRequest & { readonly account?: Account }) => Promise<AcmeAnswer>,
) =>
  declared(summary, operationId, (call) =>
    inDirectory(call, async (directory) => run(await open(call, directory, 'either'))),
  );
