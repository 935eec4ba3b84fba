import type { Tx } from './types';

/** The client of the database, with or without a transaction. */
type DatabaseClient = Tx['prisma'];

/** A setting for all nodes; undefined if it is not stored. The code that writes a setting defines its type. */
export async function readSetting<T>(client: DatabaseClient, name: string): Promise<T | undefined> {
  const row = await client.setting.findUnique({ where: { name } });
  return (row?.value as T | null | undefined) ?? undefined;
}

/** Reads a sealed setting in the same way. */
export async function readSealedSetting(
  client: DatabaseClient,
  name: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return (await client.setting.findUnique({ where: { name } }))?.sealed ?? undefined;
}

/** Creates or replaces a setting. */
export async function storeSetting(client: DatabaseClient, name: string, value: object): Promise<void> {
  await client.setting.upsert({ where: { name }, create: { name, value }, update: { value } });
}

/** Creates or replaces a sealed setting. */
export async function storeSealedSetting(
  client: DatabaseClient,
  name: string,
  sealed: Buffer<ArrayBuffer>,
): Promise<void> {
  await client.setting.upsert({ where: { name }, create: { name, sealed }, update: { sealed } });
}

/** Deletes a setting; an absent setting is not an error. */
export async function deleteSetting(client: DatabaseClient, name: string): Promise<void> {
  await client.setting.deleteMany({ where: { name } });
}

/** Adds an item to a list setting; simultaneous additions are both kept. */
export async function addToSetting(client: DatabaseClient, name: string, item: object): Promise<void> {
  const entry = JSON.stringify([item]);
  await client.$executeRaw`
    INSERT INTO setting (name, value) VALUES (${name}, ${entry}::jsonb)
    ON CONFLICT (name) DO UPDATE SET value = setting.value || excluded.value`;
}
