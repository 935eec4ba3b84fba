import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';
import { mountEveryKind } from './visits';

const secrets = startSecrets();

/** Method, path without the names of its parameters, and id, as generated clients have known them for years. */
const known = readFileSync(join(__dirname, 'known-operation-ids.txt'), 'utf8').trimEnd().split('\n');

async function operationIds(): Promise<Map<string, string>> {
  const { body } = await secrets.root.read('sys/internal/specs/openapi?generic_mount_paths=true').expect(200);
  const items = Object.entries(body.paths as Record<string, Record<string, { operationId?: string }>>);
  return new Map(
    items.flatMap(([at, item]) =>
      Object.entries(item).flatMap(([method, { operationId }]) =>
        operationId ? [[`${method} ${at.replace(/\{(?!\w+_mount_path)\w+\}/g, '{}')}`, operationId] as const] : [],
      ),
    ),
  );
}

it('the document names operations as generated clients know them, independent of mount paths', async () => {
  await mountEveryKind(secrets);
  await secrets.root.write('sys/mounts/jobs', { type: 'nomad' }).expect(204);
  await secrets.root.write('sys/mounts/clouds', { type: 'aws' }).expect(204);
  await secrets.root.write('sys/auth/people', { type: 'azure' }).expect(204);
  const ids = await operationIds();
  const shown = known.map((line) => line.split(' ').slice(0, 2).join(' ')).map((at) => `${at} ${ids.get(at)}`);
  expect(shown).toEqual(known);
  expect(known.length).toBeGreaterThan(390);
  // The same types at other paths: the document of types does not change.
  for (const [from, to] of [
    ['one', 'moved-one'],
    ['two', 'a/moved-two'],
    ['jobs', 'moved-jobs'],
    ['auth/people', 'auth/moved-people'],
  ]) {
    await secrets.root.delete(`sys/${from!.startsWith('auth/') ? from : `mounts/${from}`}`).expect(204);
    const type = { one: 'kv', two: 'kv', jobs: 'nomad', 'auth/people': 'azure' }[from!];
    const options = from === 'two' ? { options: { version: '2' } } : {};
    await secrets.root.write(`sys/${to!.startsWith('auth/') ? to : `mounts/${to}`}`, { type, ...options }).expect(204);
  }
  expect(Object.fromEntries(await operationIds())).toEqual(Object.fromEntries(ids));
});
