import { beforeAll, describe, expect, it } from '@jest/globals';
import { startOpenSsl } from '../../../test/openssl';
import { startSecrets } from '../../../test/start-secrets';
import { backgroundCalls } from '../../service/background-calls';

const dayMs = 24 * 3600_000;

describe('tidy', () => {
  const time = { offsetMs: 0 };
  const clock = { now: () => Date.now() + time.offsetMs };
  const secrets = startSecrets({ clock });
  const { run, file } = startOpenSsl();
  const write = (path: string, body: object = {}) => secrets.root.write(`pki/${path}`, body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const read = async (path: string) => (await secrets.root.read(`pki/${path}`).expect(200)).body.data;
  const kept = async (): Promise<string[]> => (await secrets.root.list('pki/certs').expect(200)).body.data.keys;
  const issue = async (ttl: string): Promise<string> =>
    (await must('issue/a', { common_name: 'a.test', ttl })).serial_number;
  /** Runs what each node runs every few seconds. */
  const look = async () => {
    const { mounts, entries, committer, decisions, namespaces, leases } = secrets.service.kernel;
    const mount = mounts.at(namespaces.root.uuid, 'pki/')!;
    await backgroundCalls({ entries, committer, decisions }, clock, () => leases)(mount, mount.backend.tick!);
  };
  const listed = async (): Promise<string> => {
    const { text } = await secrets.anonymous.read('pki/crl/pem').expect(200);
    return run('crl', '-in', file(text), '-noout', '-text');
  };

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
    await must('root/generate/internal', { common_name: 'Root', ttl: '87600h', key_type: 'ec' });
    await must('roles/a', { allow_any_name: true, key_type: 'ec' });
  });

  it('keeps the configured entries, and also removes old ones from CRLs (E6.8)', async () => {
    expect(await read('tidy-status')).toMatchObject({ state: 'Inactive', tidy_cert_store: null, time_started: null });
    const [root] = await kept();
    const old = await Promise.all(Array.from({ length: 8 }, () => issue('1h')));
    const revoked = await issue('1h');
    const long = await issue('2000h');
    await must('revoke', { serial_number: revoked });
    time.offsetMs = 4 * dayMs;
    const idle = await write('tidy').expect(202);
    expect(idle.body.warnings[0]).toMatch(/^Manual tidy requested but no tidy operations were set/);
    const started = await write('tidy', { tidy_cert_store: true, page_size: 6 }).expect(202);
    expect(started.body.warnings[0]).toMatch(/^Tidy operation successfully started/);
    expect((await write('tidy', { tidy_cert_store: true }).expect(202)).body.warnings[0]).toMatch(
      /already in progress/,
    );
    expect(await read('tidy-status')).toMatchObject({ state: 'Running', tidy_cert_store: true, page_size: 6 });
    await look();
    expect(await read('tidy-status')).toMatchObject({
      state: 'Finished',
      cert_store_deleted_count: 8,
      revoked_cert_deleted_count: 0,
    });
    expect((await kept()).sort()).toEqual([root!, revoked, long].sort());
    for (const serial of old) await secrets.anonymous.read(`pki/cert/${serial}`).expect(404);
    expect(await listed()).toMatch(new RegExp(revoked.replaceAll(':', ''), 'i'));

    await write('tidy', { tidy_revoked_certs: true, safety_buffer: '2d' }).expect(202);
    await look();
    expect(await read('tidy-status')).toMatchObject({ state: 'Finished', revoked_cert_deleted_count: 1 });
    expect((await kept()).sort()).toEqual([root!, long].sort());
    expect(await listed()).toContain('No Revoked Certificates');
    await secrets.root.list('pki/certs/revoked').expect(404);
  });

  it('stops when cancelled, and continues by the settings', async () => {
    expect((await write('tidy-cancel').expect(200)).body.warnings[0]).toMatch(/none is currently running/);
    await issue('1h');
    await write('tidy', { tidy_cert_store: true }).expect(202);
    expect(await must('tidy-cancel')).toMatchObject({ state: 'Cancelling' });
    time.offsetMs += 10 * dayMs;
    await look();
    expect(await read('tidy-status')).toMatchObject({ state: 'Cancelled', cert_store_deleted_count: 0 });
    const refused = await write('config/auto-tidy', { enabled: true }).expect(400);
    expect(refused.body.errors[0]).toMatch(/^Auto-tidy enabled but no tidy operations were requested/);
    expect((await write('config/auto-tidy', { page_size: 1 }).expect(400)).body.errors[0]).toMatch(
      /^page_size must be/,
    );
    const settings = { enabled: true, tidy_cert_store: true, interval_duration: '1h' };
    expect(await must('config/auto-tidy', settings)).toMatchObject({
      ...settings,
      interval_duration: 3600,
      safety_buffer: 259200,
    });
    await look();
    expect((await read('tidy-status')).state).toBe('Cancelled');
    time.offsetMs += dayMs / 12;
    await look();
    expect(await read('tidy-status')).toMatchObject({ state: 'Finished', cert_store_deleted_count: 1 });
  });

  it('removes an expired issuer, but never the default one', async () => {
    const short = await must('root/generate/internal', { common_name: 'Short', ttl: '1h', key_type: 'ec' });
    time.offsetMs += 400 * dayMs;
    await write('tidy', { tidy_expired_issuers: true }).expect(202);
    await look();
    const { body } = await secrets.anonymous.list('pki/issuers').expect(200);
    expect(body.data.keys).not.toContain(short.issuer_id);
    expect(body.data.keys).toHaveLength(1);
  });

  it('lists certificates with their details', async () => {
    const serial = await issue('1h');
    const { body } = await secrets.root.list('pki/certs/detailed').expect(200);
    expect(body.data.key_info[serial]).toMatchObject({
      ...{ common_name: 'a.test', dns_names: ['a.test'], issuer: 'CN=Root', key_type: 'ec', key_bits: 256 },
    });
  });

  it('combines CRLs of an issuer into one, and refuses those of others', async () => {
    const [one, two] = [await issue('1h'), await issue('1h')];
    await must('revoke', { serial_number: one });
    const first = (await secrets.anonymous.read('pki/crl/pem').expect(200)).text;
    await must('revoke', { serial_number: two });
    const second = (await secrets.anonymous.read('pki/crl/pem').expect(200)).text;
    const { crl } = await must('issuer/default/resign-crls', { crl_number: 77, crls: [first, second] });
    const text = run('crl', '-in', file(crl), '-noout', '-text');
    for (const serial of [one, two]) expect(text).toMatch(new RegExp(serial.replaceAll(':', ''), 'i'));
    expect(text).toMatch(/X509v3 CRL Number: \n\s+77\n/);
    await must('root/generate/internal', { common_name: 'Other', key_type: 'ec', issuer_name: 'other', ttl: '90h' });
    const refused = await write('issuer/other/resign-crls', { crl_number: 1, crls: [first] }).expect(400);
    expect(refused.body.errors[0]).toBe('CRL index: 0 was not signed by requested issuer');
    const asked = await must('issuer/other/sign-revocation-list', {
      crl_number: 3,
      next_update: '24h',
      revoked_certs: [{ serial_number: '12:34', revocation_time: '2026-01-02T03:04:05Z' }],
      extensions: [{ id: '1.2.3.4', critical: false, value: Buffer.from('0c0161', 'hex').toString('base64') }],
    });
    const made = run('crl', '-in', file(asked.crl), '-noout', '-text');
    expect(made).toMatch(/Serial Number: 1234\n\s+Revocation Date: Jan {2}2 03:04:05 2026 GMT/);
    expect(made).toContain('1.2.3.4');
    const timeless = { crl_number: 4, revoked_certs: [{ serial_number: '12:34' }] };
    const { body } = await write('issuer/other/sign-revocation-list', timeless).expect(400);
    expect(body.errors).toEqual(["failed parsing revocation_time from entry 0: missing 'revocation_time' field"]);
  });
});
