import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { PasskeyAsker, PasskeyPurpose } from '@keystead/console-host';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';

const lifetimeMs = 5 * 60_000;
const mostOfUser = 20;
/** COSE: Ed25519, ES256 and RS256. Every authenticator supports at least one of them. */
const supportedAlgorithmIDs = [-8, -7, -257];

/**
 * What passkeys are requested and checked with; people reach the service at `publicUrl`, and a passkey is bound to its
 * host.
 */
export interface PasskeyParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly publicUrl: string;
  now(): number;
}

/** The origin that the answer of a passkey must have. */
export interface PasskeyQuestion {
  readonly purpose: PasskeyPurpose;
  readonly asker: PasskeyAsker;
}

const base64url = z
  .string()
  .regex(/^[\w-]+$/)
  .max(16_384);
const answer = {
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}),
};

/** A browser's answer from an existing passkey. */
export const PasskeyAnswer = z.object({
  ...answer,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish().transform((text) => text ?? undefined),
  }),
});

/** A browser's answer about a new passkey. */
export const NewPasskey = z.strictObject({
  name: z.string().trim().min(1).max(100),
  answer: z.object({
    ...answer,
    response: z.object({
      clientDataJSON: base64url,
      attestationObject: base64url,
      transports: z.array(z.string().max(32)).max(16).optional(),
    }),
  }),
});

/** A passkey as its person sees it. */
export interface ShownPasskey {
  readonly id: string;
  readonly name: string;
  readonly 'created-at': string;
  readonly 'last-used-at': string | null;
}

// The library that reads authenticators' certificates takes long to load, and most requests do not need it.
const library = () => import('@simplewebauthn/server');

// Browsers support no passkeys for IP addresses: on this machine they are bound to its name.
const siteOf = ({ publicUrl }: PasskeyParts) => {
  const site = new URL(publicUrl);
  if (['127.0.0.1', '[::1]'].includes(site.hostname)) site.hostname = 'localhost';
  return { rpID: site.hostname, origin: site.origin };
};

/** The challenge for a browser; if the person is signed in, only for their own passkeys. */
export async function ask(
  parts: PasskeyParts,
  asked: PasskeyQuestion,
  user?: { id: string; name: string },
): Promise<object> {
  const { rpID } = siteOf(parts);
  const challenge = new Uint8Array(challengeOf(parts, asked));
  const { generateAuthenticationOptions, generateRegistrationOptions } = await library();
  const known = user ? await parts.db.prisma.passkey.findMany({ where: { userId: user.id } }) : [];
  const credentials = known.map(({ credentialId: id, transports }) => ({ id, transports }));
  if (asked.purpose !== 'add') {
    return generateAuthenticationOptions({
      rpID,
      challenge,
      timeout: lifetimeMs,
      userVerification: 'required',
      allowCredentials: credentials,
    });
  }
  if (known.length >= mostOfUser) throw new Refusal('conflict', `An account has at most ${mostOfUser} passkeys`);
  return generateRegistrationOptions({
    rpName: 'Keystead',
    rpID,
    userName: user!.name,
    userID: new Uint8Array(Buffer.from(user!.id)),
    challenge,
    timeout: lifetimeMs,
    excludeCredentials: credentials,
    supportedAlgorithmIDs,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/**
 * Adds a passkey from a browser's answer to the account of a person. Throws `invalid` if the answer fits no challenge
 * of this browser.
 */
export async function add(
  parts: PasskeyParts,
  asked: PasskeyQuestion,
  actor: Actor,
  { name, answer }: z.output<typeof NewPasskey>,
): Promise<ShownPasskey> {
  const { rpID, origin } = siteOf(parts);
  const { verifyRegistrationResponse } = await library();
  const question = questionOf(parts, asked, answer.response.clientDataJSON);
  if (!question) throw notNew();
  const found = await verifyRegistrationResponse({
    response: answer as Parameters<typeof verifyRegistrationResponse>[0]['response'],
    expectedChallenge: question.challenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    supportedAlgorithmIDs,
  }).catch(() => undefined);
  if (!found?.verified) throw notNew();
  const { id: credentialId, publicKey, counter } = found.registrationInfo.credential;
  const data = {
    id: newId('passkey'),
    userId: actor.id,
    credentialId,
    publicKey: new Uint8Array(publicKey),
    counter: BigInt(counter),
    transports: answer.response.transports ?? [],
    name,
    lastAskedAt: question.askedAt,
    createdAt: new Date(parts.now()),
  };
  return parts.db.transaction(async (tx) => {
    await lockRow(tx, 'user_account', actor.id);
    if ((await tx.prisma.passkey.count({ where: { userId: actor.id } })) >= mostOfUser) {
      throw new Refusal('conflict', `An account has at most ${mostOfUser} passkeys`);
    }
    if (await tx.prisma.passkey.findUnique({ where: { credentialId } })) {
      throw new Refusal('conflict', 'This passkey is known already');
    }
    const made = await tx.prisma.passkey.create({ data });
    await record(tx, actor, 'create', name);
    return shown(made);
  });
}

const notNew = () => invalid('answer', 'is not a new passkey for this browser');

/** The passkeys of a person. */
export async function list(db: Database, userId: string): Promise<ShownPasskey[]> {
  const found = await db.prisma.passkey.findMany({ where: { userId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
  return found.map(shown);
}

/** Removes a passkey of a person. Throws `missing`. */
export async function remove(db: Database, actor: Actor, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const found = await tx.prisma.passkey.findUnique({ where: { id, userId: actor.id } });
    if (!found) throw notFound();
    await tx.prisma.passkey.deleteMany({ where: { id } });
    await record(tx, actor, 'delete', found.name);
  });
}

/**
 * The account whose passkey has answered a challenge of this browser; undefined for everything else. An answer is
 * accepted once: its challenge must be newer than all that were answered before, and so must the counter of keys that
 * count.
 */
export async function userOf(
  parts: PasskeyParts,
  asked: PasskeyQuestion,
  response: z.output<typeof PasskeyAnswer>,
): Promise<string | undefined> {
  const { db, now } = parts;
  const question = questionOf(parts, asked, response.response.clientDataJSON);
  const key = question && (await db.prisma.passkey.findUnique({ where: { credentialId: response.id } }));
  if (!question || !key) return undefined;
  const { rpID, origin } = siteOf(parts);
  const { verifyAuthenticationResponse } = await library();
  const { credentialId: id, publicKey, counter } = key;
  const found = await verifyAuthenticationResponse({
    response: response as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
    expectedChallenge: question.challenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    credential: { id, publicKey: new Uint8Array(publicKey), counter: Number(counter) },
  }).catch(() => undefined);
  if (!found?.verified) return undefined;
  const newCounter = BigInt(found.authenticationInfo.newCounter);
  const { count } = await db.prisma.passkey.updateMany({
    where: {
      id: key.id,
      lastAskedAt: { lt: question.askedAt },
      ...(newCounter > 0n ? { counter: { lt: newCounter } } : { counter: 0n }),
    },
    data: { counter: newCounter, lastAskedAt: question.askedAt, lastUsedAt: new Date(now()) },
  });
  return count === 1 ? key.userId : undefined;
}

// A challenge is not stored: it contains its time, and a keyed hash of that time and of where it was issued.
function challengeOf({ keyring, now }: PasskeyParts, asked: PasskeyQuestion): Buffer {
  const head = Buffer.alloc(24);
  head.writeBigUInt64BE(BigInt(now()));
  randomBytes(16).copy(head, 8);
  return Buffer.concat([head, macOf(keyring, asked, head)]);
}

/** The challenge that a browser's answer contains, if it is ours, for this purpose, and not too old. */
function questionOf(
  { keyring, now }: PasskeyParts,
  asked: PasskeyQuestion,
  clientDataJSON: string,
): { readonly challenge: string; readonly askedAt: Date } | undefined {
  const challenge = /"challenge":"([\w-]+)"/.exec(Buffer.from(clientDataJSON, 'base64url').toString())?.[1] ?? '';
  const bytes = Buffer.from(challenge, 'base64url');
  const head = bytes.subarray(0, 24);
  const mac = macOf(keyring, asked, head);
  const isOurs = bytes.length === head.length + mac.length && timingSafeEqual(bytes.subarray(head.length), mac);
  if (!isOurs) return undefined;
  const askedAtMs = Number(head.readBigUInt64BE());
  return now() - askedAtMs <= lifetimeMs ? { challenge, askedAt: new Date(askedAtMs) } : undefined;
}

function macOf(keyring: Keyring, { purpose, asker: { browser, session = '' } }: PasskeyQuestion, head: Buffer): Buffer {
  return keyring.mac('workspace-passkey', JSON.stringify([purpose, browser, session, head.toString('hex')]));
}

async function record(tx: Database, actor: Actor, verb: 'create' | 'delete', name: string): Promise<void> {
  const target = { type: 'users', id: actor.id, name: actor.name };
  const what = verb === 'create' ? { after: { passkey: name } } : { before: { passkey: name } };
  await recordChange(tx, actor, { organizationId: null, action: `account.${verb}-passkey`, target, ...what });
}

const shown = (row: { id: string; name: string; createdAt: Date; lastUsedAt: Date | null }): ShownPasskey => ({
  id: row.id,
  name: row.name,
  'created-at': row.createdAt.toISOString(),
  'last-used-at': row.lastUsedAt?.toISOString() ?? null,
});
