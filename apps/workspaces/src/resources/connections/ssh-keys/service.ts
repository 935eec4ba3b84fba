import type { Keyring } from '@keystead/keyring';
import { notFound } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow, requireRevision } from '../../../kernel/database/lock-row';
import { type KeyFacts, readPrivateKey } from './private-key';

/** A private key of an organization, without the key. */
export interface SshKey extends KeyFacts {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly revision: bigint;
}

/** The keyring that seals the keys, and whether their content is checked. */
export interface KeyStore {
  readonly keyring: Keyring;
  readonly checksSshKeys: boolean;
}

const shown = { id: true, organizationId: true, name: true, fingerprint: true, kind: true, revision: true } as const;

/** Keys by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<SshKey[]> {
  return db.prisma.sshKey.findMany({
    where: { id: { in: [...ids] }, organization: { removedAt: null } },
    select: shown,
  });
}

/** One key. */
export async function find(db: Database, id: string): Promise<SshKey | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The keys of an organization by name; without a page, all of them. */
export async function list(
  db: Database,
  organizationId: string,
  page: { offset: number; size: number } | undefined,
): Promise<{ items: SshKey[]; total?: number }> {
  const where = { organizationId };
  const items = await db.prisma.sshKey.findMany({
    where,
    select: shown,
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return page ? { items, total: await db.prisma.sshKey.count({ where }) } : { items };
}

/** Stores a private key, sealed. Throws `invalid` for a string that is not a key. Spec: SSH keys */
export async function create(
  db: Database,
  store: KeyStore,
  actor: Actor,
  organizationId: string,
  input: { name: string; value: string },
): Promise<SshKey> {
  const id = newId('sshkey');
  const sealed = seal(store, id, input.value);
  return db.transaction(async (tx) => {
    const key = await tx.prisma.sshKey.create({
      data: { id, organizationId, name: input.name, ...sealed },
      select: shown,
    });
    await recordChange(tx, actor, { ...changeOf(key, 'create'), after: facts(key) });
    return key;
  });
}

/** Renames a key, or replaces it if the request contains a new key. */
export async function update(
  db: Database,
  store: KeyStore,
  actor: Actor,
  id: string,
  input: { name?: string; value?: string | null },
  ifMatch?: bigint,
): Promise<SshKey> {
  const sealed = input.value ? seal(store, id, input.value) : {};
  return db.transaction(async (tx) => {
    await lockRow(tx, 'ssh_key', id);
    const before = await find(tx, id);
    if (!before) throw notFound();
    requireRevision(before, ifMatch);
    await tx.prisma.sshKey.update({ where: { id }, data: { name: input.name, ...sealed } });
    const key = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(key, 'update'), before: facts(before), after: facts(key) });
    return key;
  });
}

/** Deletes a key. Workspaces that used it have no key afterwards. */
export async function remove(db: Database, actor: Actor, key: SshKey): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.sshKey.deleteMany({ where: { id: key.id } });
    await recordChange(tx, actor, { ...changeOf(key, 'delete'), before: facts(key) });
  });
}

const unchecked: KeyFacts = { fingerprint: null, kind: 'unchecked' };

function seal({ keyring, checksSshKeys }: KeyStore, id: string, value: string) {
  const read = checksSshKeys ? readPrivateKey(value) : unchecked;
  return { ...read, value: new Uint8Array(keyring.seal(Buffer.from(value, 'utf8'), cellOf(id))) };
}

const cellOf = (id: string) => ({ table: 'ssh_key', row: id, column: 'value' });

const facts = ({ name, fingerprint, kind }: SshKey) => ({ name, fingerprint, kind });

function changeOf({ id, name, organizationId }: SshKey, verb: string) {
  return { organizationId, action: `ssh-key.${verb}`, target: { type: 'ssh-keys', id, name } };
}
