import type { PasskeyAsker, PasskeyPurpose } from '@keystead/console-host';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import {
  creationOptions,
  mostPasskeys,
  NewPasskeyAnswer,
  type PasskeyAnswer,
  requestOptions,
  type PasskeyParts as Site,
  verifyAnswer,
  verifyNew,
} from '@keystead/passkeys';
import { notFound, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';

/** The dependencies for requesting and checking passkeys. `publicUrl` is the URL of the service for users. */
export interface PasskeyParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly publicUrl: string;
  now(): number;
}

/** The purpose of a challenge and its browser; the answer is accepted only for these. */
export interface PasskeyQuestion {
  readonly purpose: PasskeyPurpose;
  readonly asker: PasskeyAsker;
}

/** A new passkey from a page. */
export const NewPasskey = z.strictObject({
  name: z.string().trim().min(1).max(100),
  answer: NewPasskeyAnswer,
});

/** A passkey as its person sees it. */
export interface ShownPasskey {
  readonly id: string;
  readonly name: string;
  readonly 'created-at': string;
  readonly 'last-used-at': string | null;
}

const siteOf = ({ publicUrl, keyring, now }: PasskeyParts): Site => ({
  publicUrl,
  mac: (text) => keyring.mac('workspace-passkey', text),
  now,
});
const bindingOf = ({ purpose, asker: { browser, session = '' } }: PasskeyQuestion): string =>
  JSON.stringify([purpose, browser, session]);
const tooMany = () => new Refusal('conflict', `An account has at most ${mostPasskeys} passkeys`);

/** The challenge for a browser. If the user is signed in, it is only for their own passkeys. */
export async function ask(
  parts: PasskeyParts,
  question: PasskeyQuestion,
  user?: { id: string; name: string },
): Promise<object> {
  const existing = user ? await parts.db.prisma.passkey.findMany({ where: { userId: user.id } }) : [];
  if (question.purpose !== 'add') return requestOptions(siteOf(parts), bindingOf(question), existing);
  if (existing.length >= mostPasskeys) throw tooMany();
  return creationOptions(siteOf(parts), bindingOf(question), { id: Buffer.from(user!.id), name: user!.name }, existing);
}

/**
 * Adds a passkey from a browser's response to a user's account. Throws `invalid` if the response fits no challenge of
 * this browser.
 */
export async function add(
  parts: PasskeyParts,
  question: PasskeyQuestion,
  actor: Actor,
  { name, answer }: z.output<typeof NewPasskey>,
): Promise<ShownPasskey> {
  const verified = await verifyNew(siteOf(parts), bindingOf(question), answer);
  if (!verified) throw notNew();
  const { askedAtMs, counter, publicKey, transports, credentialId } = verified;
  const data = {
    id: newId('passkey'),
    userId: actor.id,
    credentialId,
    publicKey: new Uint8Array(publicKey),
    counter: BigInt(counter),
    transports: [...transports],
    name,
    lastAskedAt: new Date(askedAtMs),
    createdAt: new Date(parts.now()),
  };
  return parts.db.transaction(async (tx) => {
    await lockRow(tx, 'user_account', actor.id);
    if ((await tx.prisma.passkey.count({ where: { userId: actor.id } })) >= mostPasskeys) throw tooMany();
    if (await tx.prisma.passkey.findUnique({ where: { credentialId } })) {
      throw new Refusal('conflict', 'This passkey is already registered');
    }
    const passkey = await tx.prisma.passkey.create({ data });
    await record(tx, actor, 'create', name);
    return shown(passkey);
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
 * The account whose passkey has answered a challenge of this browser; undefined if the response is not valid. A
 * response is accepted only once: its challenge must be newer than all challenges answered before, and if the key has a
 * counter, the counter must be higher.
 */
export async function userOf(
  parts: PasskeyParts,
  question: PasskeyQuestion,
  answer: PasskeyAnswer,
): Promise<string | undefined> {
  const { db, now } = parts;
  const found = await verifyAnswer(siteOf(parts), bindingOf(question), answer, async (credentialId) => {
    const row = await db.prisma.passkey.findUnique({ where: { credentialId } });
    return row && { ...row, counter: Number(row.counter) };
  });
  if (!found) return undefined;
  const { passkey, counter } = found;
  const askedAt = new Date(found.askedAtMs);
  const { count } = await db.prisma.passkey.updateMany({
    where: { id: passkey.id, lastAskedAt: { lt: askedAt }, counter: counter > 0 ? { lt: BigInt(counter) } : 0n },
    data: { counter: BigInt(counter), lastAskedAt: askedAt, lastUsedAt: new Date(now()) },
  });
  return count === 1 ? passkey.userId : undefined;
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
