import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { grant, member, organizationToken, team, teamToken } from './members';
import { resource, startWorkspaces } from './start-workspaces';

const pem = (type: 'pkcs8' | 'pkcs1' | 'sec1', key: { export(options: object): string | Buffer }) =>
  String(key.export({ type, format: 'pem' }));
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const withPassphrase = String(
  rsa.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' }),
);

describe('SSH keys', () => {
  const workspaces = startWorkspaces();
  const collection = 'organizations/acme/ssh-keys';
  const keyBody = (name: unknown, value: unknown) => resource('ssh-keys', { name, value });

  it.each([
    ['rsa, PKCS #1', pem('pkcs1', rsa.privateKey), 'rsa'],
    ['rsa, PKCS #8', pem('pkcs8', rsa.privateKey), 'rsa'],
    ['ecdsa, SEC 1', pem('sec1', ec.privateKey), 'ecdsa'],
    ['ed25519, PKCS #8', pem('pkcs8', ed.privateKey), 'ed25519'],
  ])('stores %s and never shows the key (W7.3, W7.2, WP.21, WP.22)', async (what, value, kind) => {
    await workspaces.admin.post('organizations', resource('organizations', { name: 'acme', email: 'a@b.co' }));
    const { body } = await workspaces.admin.post(collection, keyBody(what, value)).expect(201);
    expect(body.data).toEqual({
      id: expect.stringMatching(/^sshkey-[1-9A-HJ-NP-Za-km-z]{16}$/),
      type: 'ssh-keys',
      attributes: { name: what, kind, fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/) },
      links: { self: `/api/v2/ssh-keys/${body.data.id}` },
    });
    const shown = await workspaces.admin.get(`ssh-keys/${body.data.id}`).expect(200);
    expect(shown.body.data).toEqual(body.data);
  });

  it('accepts a key without a type, but not with another type', async () => {
    const attributes = { name: 'untyped', value: pem('pkcs8', ed.privateKey) };
    const { body } = await workspaces.admin.post(collection, { data: { attributes } }).expect(201);
    await workspaces.admin.patch(`ssh-keys/${body.data.id}`, { data: { attributes: { name: 'renamed' } } }).expect(200);
    const other = await workspaces.admin.post(collection, resource('keys', attributes)).expect(422);
    expect(other.body.errors[0].source.pointer).toBe('/data/type');
    await workspaces.admin.delete(`ssh-keys/${body.data.id}`).expect(204);
  });

  it('reads keys in the format of ssh-keygen, with the same fingerprint', async () => {
    if (!existsSync('/usr/bin/ssh-keygen')) return;
    const folder = mkdtempSync(path.join(tmpdir(), 'keys-'));
    try {
      for (const type of ['rsa', 'ecdsa', 'ed25519']) {
        const file = path.join(folder, type);
        execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', file]);
        const printed = execFileSync('ssh-keygen', ['-lf', `${file}.pub`])
          .toString()
          .split(' ')[1];
        const { body } = await workspaces.admin.post(collection, keyBody(type, readFileSync(file, 'utf8'))).expect(201);
        expect(body.data.attributes).toMatchObject({ kind: type, fingerprint: printed });
        await workspaces.admin.post(collection, keyBody('public', readFileSync(`${file}.pub`, 'utf8'))).expect(422);
      }
      const locked = path.join(folder, 'locked');
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'a passphrase', '-f', locked]);
      const { body } = await workspaces.admin.post(collection, keyBody('x', readFileSync(locked, 'utf8'))).expect(422);
      expect(body.errors[0].detail).toContain('passphrase');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ['no name', undefined, pem('pkcs8', rsa.privateKey), "Name can't be blank", 'name'],
    ['an empty name', '', pem('pkcs8', rsa.privateKey), "Name can't be blank", 'name'],
    ['no value', 'a', undefined, "Value can't be blank", 'value'],
    ['a number as its value', 'a', 7, 'Value must be a string', 'value'],
    ['text that is not a key', 'a', 'not a key', 'Value is not a private key', 'value'],
    [
      'a public key',
      'a',
      String(rsa.publicKey.export({ type: 'spki', format: 'pem' })),
      'Value is not a private key',
      'value',
    ],
    ['an incomplete key', 'a', pem('pkcs1', rsa.privateKey).slice(0, 400), 'Value is not a private key', 'value'],
    ['a key with a passphrase', 'a', withPassphrase, 'Value must not be protected by a passphrase', 'value'],
  ])('refuses %s (W8.5)', async (_what, name, value, detail, attribute) => {
    const { body } = await workspaces.admin.post(collection, keyBody(name, value)).expect(422);
    expect(body.errors).toEqual([
      { status: '422', title: 'invalid attribute', detail, source: { pointer: `/data/attributes/${attribute}` } },
    ]);
  });

  it('refuses a document of another type', async () => {
    const body = resource('keys', { name: 'a', value: pem('pkcs8', rsa.privateKey) });
    await workspaces.admin.post(collection, body).expect(422);
  });

  it('lists all keys without page parameters, and pages of 20 with one (W7.1)', async () => {
    await workspaces.organization('many');
    const value = pem('pkcs8', ed.privateKey);
    for (let i = 0; i < 22; i++) {
      const body = keyBody(`key ${String(i).padStart(2, '0')}`, value);
      await workspaces.admin.post('organizations/many/ssh-keys', body).expect(201);
    }
    const all = await workspaces.admin.get('organizations/many/ssh-keys').expect(200);
    expect(all.body.data).toHaveLength(22);
    expect(all.body).not.toHaveProperty('meta');
    expect(all.body).not.toHaveProperty('links');
    const page = await workspaces.admin.get('organizations/many/ssh-keys?page%5Bnumber%5D=2').expect(200);
    expect(page.body.data.map((key: { attributes: { name: string } }) => key.attributes.name)).toEqual([
      'key 20',
      'key 21',
    ]);
    expect(page.body.meta.pagination).toMatchObject({ 'current-page': 2, 'page-size': 20, 'total-count': 22 });
    const few = await workspaces.admin.get('organizations/many/ssh-keys?page%5Bsize%5D=3').expect(200);
    expect(few.body.data).toHaveLength(3);
    expect(few.body.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 3, 'total-pages': 8 });
  });

  it('renames, replaces and deletes a key; workspaces that used it have none (WP.23)', async () => {
    const made = await workspaces.admin.post(collection, keyBody('first', pem('pkcs8', rsa.privateKey))).expect(201);
    const { id } = made.body.data;
    const web = await workspaces.workspace('acme', 'web');
    const assign = { data: { type: 'workspaces', attributes: { id } } };
    await workspaces.admin.patch(`workspaces/${web.id}/relationships/ssh-key`, assign).expect(200);
    const used = await workspaces.admin.get(`workspaces/${web.id}`).expect(200);
    expect(used.body.data.relationships['ssh-key'].data).toEqual({ id, type: 'ssh-keys' });
    const renamed = await workspaces.admin
      .patch(`ssh-keys/${id}`, resource('ssh-keys', { name: 'second' }))
      .expect(200);
    expect(renamed.body.data.attributes).toEqual({ ...made.body.data.attributes, name: 'second' });
    const replaced = await workspaces.admin
      .patch(`ssh-keys/${id}`, keyBody('second', pem('pkcs8', ed.privateKey)))
      .expect(200);
    expect(replaced.body.data.attributes.kind).toBe('ed25519');
    await workspaces.admin.delete(`ssh-keys/${id}`).expect(204);
    await workspaces.admin.get(`ssh-keys/${id}`).expect(404);
    const shown = await workspaces.admin.get(`workspaces/${web.id}`).expect(200);
    expect(shown.body.data.relationships['ssh-key'].data).toBeNull();
  });

  it('refuses organization tokens everywhere, and lets readers only read (W7.1-W7.3, WA.2, W8.4, WP.41, WP.42)', async () => {
    const made = await workspaces.admin.post(collection, keyBody('guarded', pem('pkcs8', ed.privateKey))).expect(201);
    const byId = `ssh-keys/${made.body.data.id}`;
    const organization = await organizationToken(workspaces, 'acme');
    const admins = await team(workspaces, 'acme', 'admins');
    const { id } = await workspaces.workspace('acme', 'administered');
    await grant(workspaces, admins, id, 'admin');
    const vcs = await team(workspaces, 'acme', 'vcs', ['manage-vcs-settings']);
    const reader = await member(workspaces, 'acme', [admins]);
    const [readingTeam, managingTeam] = [await teamToken(workspaces, admins), await teamToken(workspaces, vcs)];
    const outsider = await member(workspaces, 'acme');
    const body = keyBody('another', pem('pkcs8', ed.privateKey));
    const statuses = async (client: typeof reader | typeof organization) => [
      (await client.get(collection)).status,
      (await client.get(byId)).status,
      (await client.post(collection, body)).status,
      (await client.patch(byId, resource('ssh-keys', { name: 'renamed' }))).status,
    ];
    expect(await statuses(organization)).toEqual([404, 404, 404, 404]);
    expect(await statuses(outsider)).toEqual([404, 404, 404, 404]);
    expect(await statuses(reader)).toEqual([200, 200, 404, 404]);
    expect(await statuses(readingTeam)).toEqual([200, 200, 404, 404]);
    expect(await statuses(managingTeam)).toEqual([200, 200, 201, 200]);
    await organization.delete(byId).expect(404);
    await workspaces.organization('elsewhere');
    const stranger = await member(workspaces, 'elsewhere');
    await stranger.get(byId).expect(404);
  });

  it('does not store private keys in plain text', async () => {
    const value = pem('pkcs8', rsa.privateKey);
    await workspaces.admin.post(collection, keyBody('canary', value)).expect(201);
    const canary = value.split('\n')[2]!;
    const text = await withClient(workspaces.databaseUrl, async (client) => {
      const { rows } = await client.query("SELECT encode(value, 'escape') AS text FROM ssh_key");
      const { rows: events } = await client.query('SELECT row_to_json(e)::text AS text FROM audit_event e');
      return [...rows, ...events].map((row) => row.text).join('\n');
    });
    expect(text).not.toContain(canary);
  });
});

describe('SSH keys if the installation does not check them', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_CHECK_SSH_KEYS: 'off' } });

  it('accepts any text', async () => {
    await workspaces.organization('acme');
    const body = resource('ssh-keys', { name: 'any', value: 'any text' });
    const made = await workspaces.admin.post('organizations/acme/ssh-keys', body).expect(201);
    expect(made.body.data.attributes).toEqual({ name: 'any', kind: 'unchecked', fingerprint: null });
  });
});
