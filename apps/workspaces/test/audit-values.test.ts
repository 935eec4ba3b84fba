import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { applyMigrations, withClient } from '@keystead/postgres';
import { emptyDatabase } from '@keystead/testing';
import { migrationsDir } from '../src/schema';
import { ref, resource, startWorkspaces } from './start-workspaces';

const canary = 'canary-4f1d';
const rowsOf = (url: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ text: string }>('SELECT row_to_json(e)::text AS text FROM audit_event e');
    return rows.map(({ text }) => text);
  });

describe('audit events of variables', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;

  it('contain no value, plain or sensitive, and show that one was changed', async () => {
    await workspaces.organization('acme');
    const { id: workspaceId } = await workspaces.workspace('acme', 'web');
    const relationships = {
      vars: { data: [{ type: 'vars', attributes: { key: 'a', value: canary, category: 'env' } }] },
    };
    const { body: set } = await admin
      .post('organizations/acme/varsets', resource('varsets', { name: 'shared' }, relationships))
      .expect(201);
    for (const owner of [`workspaces/${workspaceId}/vars`, `varsets/${set.data.id}/relationships/vars`]) {
      for (const sensitive of [false, true]) {
        const given = { key: `k${sensitive}`, value: canary, category: 'env', sensitive };
        const { body: made } = await admin.post(owner, resource('vars', given)).expect(201);
        const at = `${owner}/${made.data.id}`;
        const patch = (attributes: object) => admin.patch(at, resource('vars', attributes)).expect(200);
        await patch({ description: 'only this' });
        await patch({ value: `${canary}-2` });
        await patch({ sensitive: true });
        await patch({ key: 'renamed', value: `${canary}-3` });
        await admin.delete(at).expect(204);
        const { body: all } = await admin.get(`organizations/acme/audit-events?filter[target]=${made.data.id}`);
        const values = all.data.map(
          ({ attributes }: { attributes: { after: { value?: string } | null } }) => attributes.after?.value,
        );
        expect(values.reverse()).toEqual(['(not shown)', undefined, '(changed)', undefined, '(changed)', undefined]);
      }
    }
    // Variables of one run are sealed with it.
    const run = resource(
      'runs',
      { variables: [{ key: 'v', value: `"${canary}"` }] },
      { workspace: ref('workspaces', workspaceId) },
    );
    await admin.post('runs', run);
    expect((await rowsOf(workspaces.databaseUrl)).filter((text) => text.includes(canary))).toEqual([]);
  });

  it('lose the values written by a node of an earlier build when the variable becomes sensitive', async () => {
    const { id: workspaceId } = await workspaces.workspace('acme', 'older');
    const given = { key: 'k', value: canary, category: 'env' };
    const { body: made } = await admin.post(`workspaces/${workspaceId}/vars`, resource('vars', given)).expect(201);
    await withClient(workspaces.databaseUrl, (client) =>
      client.query(`UPDATE audit_event SET after = jsonb_set(after, '{value}', $2) WHERE target_id = $1`, [
        made.data.id,
        JSON.stringify(canary),
      ]),
    );
    const at = `workspaces/${workspaceId}/vars/${made.data.id}`;
    await admin.patch(at, resource('vars', { sensitive: true })).expect(200);
    expect((await rowsOf(workspaces.databaseUrl)).filter((text) => text.includes(canary))).toEqual([]);
  });

  it('lose the values that earlier builds wrote when the schema is brought up to date', async () => {
    const database = await emptyDatabase();
    const before = mkdtempSync(path.join(tmpdir(), 'migrations-'));
    try {
      const names = readdirSync(migrationsDir).filter((name) => name < '20261122110000' && /^\d/.test(name));
      for (const name of names) cpSync(path.join(migrationsDir, name), path.join(before, name), { recursive: true });
      await applyMigrations({ url: database.url, dir: before });
      const insert = (action: string, was: object | null, is: object | null) => `
        INSERT INTO audit_event (actor_type, actor_id, actor_name, action, target_type, target_id, before, after)
        VALUES ('users', 'u', 'u', '${action}', '${action.startsWith('team') ? 'teams' : 'vars'}', 'var-1',
                ${was ? `'${JSON.stringify(was)}'` : 'NULL'}, ${is ? `'${JSON.stringify(is)}'` : 'NULL'})`;
      const plain = { key: 'k', value: canary };
      await withClient(database.url, async (client) => {
        await client.query(insert('variable.create', null, plain));
        await client.query(insert('variable.update', plain, { ...plain, value: '(sensitive)' }));
        await client.query(insert('variable.update', { key: 'k' }, { key: 'l' }));
        await client.query(insert('variable.delete', plain, null));
        await client.query(insert('team.update', { value: 'kept' }, { value: 'other' }));
      });
      await applyMigrations({ url: database.url, dir: migrationsDir });
      const events = (await rowsOf(database.url)).map((text) => JSON.parse(text));
      expect(JSON.stringify(events)).not.toContain(canary);
      expect(events.map(({ before: was, after: is }) => [was?.value, is?.value])).toEqual(
        expect.arrayContaining([
          [undefined, '(not shown)'],
          ['(not shown)', '(changed)'],
          [undefined, undefined],
          ['(not shown)', undefined],
          ['kept', 'other'],
        ]),
      );
      expect(events).toHaveLength(5);
    } finally {
      rmSync(before, { recursive: true });
      await database.drop();
    }
  });
});
