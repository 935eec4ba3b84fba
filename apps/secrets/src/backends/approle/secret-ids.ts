import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { collection } from '../../sdk/collection';
import type { Storage } from '../../sdk/storage';

/** A secret id as stored. The id itself is stored only as a keyed hash. */
const SecretId = z.object({
  accessor: z.string(),
  metadata: z.record(z.string(), z.string()),
  cidrs: z.array(z.string()),
  tokenCidrs: z.array(z.string()),
  /** The remaining uses; 0 means unlimited. */
  usesLeft: z.number(),
  ttlSeconds: z.number(),
  createdAtMs: z.number(),
  updatedAtMs: z.number(),
  /** 0 means that it never expires. */
  expiresAtMs: z.number(),
});
/** A secret id as stored. */
export type SecretId = z.output<typeof SecretId>;

const secretIds = collection('secret-id/', SecretId);
const accessors = collection('secret-id-accessor/', z.string());

/** A secret id with the key it is stored under. */
export interface FoundSecretId {
  readonly key: string;
  readonly value: SecretId;
}

/** The part of a role that its secret ids depend on. */
interface HashingRole {
  readonly uuid: string;
  readonly hashKey: string;
}

/** The hash of an id or accessor, with the key of its role. The key is deleted with the role. */
function hashOf(role: HashingRole, kind: 'secret' | 'accessor', text: string): string {
  return createHmac('sha256', role.hashKey).update(`${kind}\u0000${text}`).digest('hex');
}

const keyOf = (role: HashingRole, secretId: string) => `${role.uuid}/${hashOf(role, 'secret', secretId)}`;
const accessorKeyOf = (role: HashingRole, accessor: string) => `${role.uuid}/${hashOf(role, 'accessor', accessor)}`;

/** Adds a secret id and returns its accessor; undefined if the role already has it. */
export async function addSecretId(
  storage: Storage,
  role: HashingRole,
  secretId: string,
  value: Omit<SecretId, 'accessor'>,
): Promise<string | undefined> {
  const key = keyOf(role, secretId);
  return storage.transaction(`secret-id/${key}`, async (tx) => {
    if (await secretIds.find(tx, key)) return undefined;
    const accessor = randomUUID();
    secretIds.put(tx, key, { ...value, accessor });
    accessors.put(tx, accessorKeyOf(role, accessor), key);
    return accessor;
  });
}

/** A live secret id of a role; undefined if unknown or expired. */
export async function findSecretId(
  storage: Storage,
  role: HashingRole,
  secretId: string,
  nowMs: number,
): Promise<FoundSecretId | undefined> {
  return findByKey(storage, keyOf(role, secretId), nowMs);
}

/** A live secret id of a role, found by its accessor; undefined if unknown or expired. */
export async function findByAccessor(
  storage: Storage,
  role: HashingRole,
  accessor: string,
  nowMs: number,
): Promise<FoundSecretId | undefined> {
  const key = await accessors.find(storage, accessorKeyOf(role, accessor));
  return key === undefined ? undefined : findByKey(storage, key, nowMs);
}

/** The accessors of all live secret ids of a role. */
export async function listAccessors(storage: Storage, role: HashingRole, nowMs: number): Promise<string[]> {
  const found: string[] = [];
  for await (const { value } of allOf(storage, role.uuid)) if (isLive(value, nowMs)) found.push(value.accessor);
  return found.sort();
}

/** Removes a secret id and its accessor. */
export function removeSecretId(storage: Storage, role: HashingRole, { key, value }: FoundSecretId): void {
  secretIds.delete(storage, key);
  accessors.delete(storage, accessorKeyOf(role, value.accessor));
}

/** Removes all secret ids of a role. */
export function removeAllSecretIds(storage: Storage, role: HashingRole): void {
  storage.deletePrefix(`secret-id/${role.uuid}/`);
  storage.deletePrefix(`secret-id-accessor/${role.uuid}/`);
}

/** Removes the expired secret ids of a role. */
export async function tidySecretIds(storage: Storage, role: HashingRole, nowMs: number): Promise<void> {
  for await (const found of allOf(storage, role.uuid))
    if (!isLive(found.value, nowMs)) removeSecretId(storage, role, found);
}

/**
 * Uses a secret id once and returns it; undefined if it is unknown, expired or used up. `judge` can refuse by throwing
 * before the use is counted. Two callers cannot both take the last use, because the count is compared at commit.
 */
export async function spendSecretId(
  storage: Storage,
  role: HashingRole,
  secretId: string,
  nowMs: number,
  judge: (value: SecretId) => void,
): Promise<SecretId | undefined> {
  return storage.transaction(`secret-id/${keyOf(role, secretId)}`, async (tx) => {
    const found = await findSecretId(tx, role, secretId, nowMs);
    if (!found) return undefined;
    judge(found.value);
    const { key, value } = found;
    if (value.usesLeft === 1) removeSecretId(tx, role, found);
    else if (value.usesLeft > 1) secretIds.put(tx, key, { ...value, usesLeft: value.usesLeft - 1, updatedAtMs: nowMs });
    return value;
  });
}

function isLive({ expiresAtMs }: SecretId, nowMs: number): boolean {
  return expiresAtMs === 0 || nowMs < expiresAtMs;
}

async function findByKey(storage: Storage, key: string, nowMs: number): Promise<FoundSecretId | undefined> {
  const value = await secretIds.find(storage, key);
  return value && isLive(value, nowMs) ? { key, value } : undefined;
}

/** How many records are read at once. */
const pageSize = 500;

async function* allOf(storage: Storage, roleUuid: string): AsyncGenerator<FoundSecretId> {
  const folder = `secret-id/${roleUuid}/`;
  for (let after: string | undefined; ; ) {
    const names = await storage.list(folder, { after, limit: pageSize });
    const texts = await storage.getMany(names.map((name) => folder + name));
    for (const [path, text] of texts) {
      yield { key: path.slice('secret-id/'.length), value: JSON.parse(text) as SecretId };
    }
    if (names.length < pageSize) return;
    after = names.at(-1);
  }
}
