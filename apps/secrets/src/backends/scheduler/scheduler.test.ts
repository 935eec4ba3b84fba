import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { until } from '../../../test/fresh-storage';
import { SchedulerStandIn } from '../../../test/stand-ins/scheduler';
import { startSecrets } from '../../../test/start-secrets';

const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

describe('scheduler engine', () => {
  const secrets = startSecrets();
  const upstream = new SchedulerStandIn();
  beforeAll(() => upstream.start());
  afterAll(() => upstream.stop());

  const configure = () =>
    secrets.root
      .write('scheduler/config/access', { address: upstream.address, token: upstream.management })
      .expect(204);

  describe('access configuration', () => {
    it('is absent at first', async () => {
      await secrets.root.read('scheduler/config/access').expect(404);
      await secrets.root.write('scheduler/role/none', { policies: 'read' }).expect(204);
      await secrets.root.read('scheduler/creds/none').expect(400, /config\/access/);
    });

    it('is written and read without token and key (S11.1, S11.2, S11.4, S21.1, S21.2, SP.35)', async () => {
      await configure();
      const { body } = await secrets.root.read('scheduler/config/access').expect(200);
      expect(body.data).toEqual({ address: upstream.address, ca_cert: '', client_cert: '', max_token_name_length: 0 });
      const token = upstream.management;
      const other = { address: 'http://127.0.0.1:1', ca_cert: testCertificate.cert };
      await secrets.root.write('scheduler/config/access', { ...other, token }).expect(204);
      expect((await secrets.root.read('scheduler/config/access').expect(200)).body.data).toMatchObject(other);
      await secrets.root
        .write('scheduler/config/access', { address: upstream.address, ca_cert: '', token })
        .expect(204);
    });

    it('keeps omitted fields, except for the name length (S11.3)', async () => {
      await secrets.root.write('scheduler/config/access', { max_token_name_length: 40 }).expect(204);
      expect((await secrets.root.read('scheduler/config/access')).body.data.max_token_name_length).toBe(40);
      await secrets.root.write('scheduler/config/access', { ca_cert: '' }).expect(204);
      const { body } = await secrets.root.read('scheduler/config/access').expect(200);
      expect(body.data).toMatchObject({ address: upstream.address, max_token_name_length: 0 });
    });

    it.each([
      [{ address: 'nowhere', token: 't' }, 'address must have the form protocol://host:port'],
      [{ address: 'ftp://x:1', token: 't' }, 'address must have the form'],
      [{ client_cert: 'x' }, 'Both client cert and client key must be provided'],
      [{ client_key: 'x' }, 'Both client cert and client key must be provided'],
      [{ client_cert: testCertificate.cert, client_key: otherKey }, 'client_key does not belong to client_cert'],
      [{ token: 'pasted\n' }, 'for field "token"'],
      [{ token: 'pas\u200bted' }, 'not allowed in headers'],
      [{ ca_cert: 'no pem', token: 't' }, 'ca_cert is not an x509 PEM certificate'],
      [{ max_token_name_length: -1 }, 'max_token_name_length cannot be negative'],
      [{ max_token_name_length: 'zz' }, 'for field "max_token_name_length"'],
    ])('refuses %j and changes nothing (S11.5, S11.6)', async (fields, text) => {
      const before = await secrets.root.read('scheduler/config/access').expect(200);
      const { body } = await secrets.root.write('scheduler/config/access', fields).expect(400);
      expect(body.errors[0]).toContain(text);
      const after = await secrets.root.read('scheduler/config/access').expect(200);
      expect(after.body.data).toEqual(before.body.data);
    });

    it('verifies address and token when asked', async () => {
      const good = await secrets.root.write('scheduler/config/access', { verify: true }).expect(200);
      expect(good.body.data).toMatchObject({ token_type: 'management', version: '1.9.3', tls: false });
      await secrets.root.write('scheduler/config/access', { token: 'nonsense', verify: true }).expect(502, /403/);
      await secrets.root
        .write('scheduler/config/access', { address: 'http://127.0.0.1:1', token: 'any', verify: true })
        .expect(502, /unreachable/);
      await secrets.root.read('scheduler/config/access').expect(200, new RegExp(upstream.address));
    });

    it('creates the first management token on request', async () => {
      const fresh = new SchedulerStandIn();
      fresh.bootstrapped = false;
      const address = await fresh.start();
      await secrets.root.write('sys/mounts/fresh', { type: 'scheduler' }).expect(204);
      await secrets.root.write('fresh/config/access', { address, bootstrap: true }).expect(204);
      await secrets.root.write('fresh/role/m', { type: 'management' }).expect(204);
      await secrets.root.read('fresh/creds/m').expect(200);
      await secrets.root.write('sys/mounts/late', { type: 'scheduler' }).expect(204);
      const late = await secrets.root.write('late/config/access', { address, bootstrap: true }).expect(400);
      expect(late.body.errors[0]).toContain('ACL bootstrap already done');
      await secrets.root.delete('sys/mounts/fresh').expect(204);
      expect(fresh.issued).toEqual([]);
      await fresh.stop();
    });
  });

  describe('lease configuration', () => {
    it('is written, read in seconds and deleted (S21.3, S21.4, S21.5, SP.17, SP.36, SP.37)', async () => {
      await secrets.root.read('scheduler/config/lease').expect(404);
      await secrets.root.write('scheduler/config/lease', { ttl: '1h', max_ttl: 7200 }).expect(204);
      const { body } = await secrets.root.read('scheduler/config/lease').expect(200);
      expect(body.data).toEqual({ ttl: 3600, max_ttl: 7200 });
      await secrets.root.write('scheduler/config/lease', { ttl: '30m' }).expect(204);
      await secrets.root.read('scheduler/config/lease').expect(200, /"max_ttl":0,"ttl":1800/);
      await secrets.root.write('scheduler/config/lease', { max_ttl: 60 }).expect(204);
      await secrets.root.read('scheduler/config/lease').expect(200, /"max_ttl":60,"ttl":0/);
      await secrets.root.delete('scheduler/config/lease').expect(204);
      await secrets.root.read('scheduler/config/lease').expect(404);
    });

    it.each([
      [
        { ttl: 'zz' },
        'Field validation failed: error converting input zz for field "ttl": time: invalid duration "zz"',
      ],
      [{ ttl: -5 }, "cannot provide negative value '-5'"],
      [{ ttl: '2h', max_ttl: '1h' }, "'ttl' cannot be greater than 'max_ttl'"],
    ])('refuses %j', async (fields, text) => {
      const { body } = await secrets.root.write('scheduler/config/lease', fields).expect(400);
      expect(body.errors[0]).toContain(text);
    });
  });

  describe('roles', () => {
    it('splits comma-separated policies and shows every field (S21.6, S21.7, SP.15, SP.38, SP.39)', async () => {
      await secrets.root.write('scheduler/role/ops', { policies: 'read, deploy' }).expect(204);
      const { body } = await secrets.root.read('scheduler/role/ops').expect(200);
      expect(body.data).toEqual({
        global: false,
        lease: '0s',
        policies: ['read', 'deploy'],
        token_type: 'client',
        type: 'client',
      });
    });

    it('keeps policies and global, but sets the type back to client (SP.38, SP.39)', async () => {
      await secrets.root.write('scheduler/role/boss', { type: 'management', global: true }).expect(204);
      const { body } = await secrets.root.write('scheduler/role/boss', {}).expect(400);
      expect(body.errors[0]).toBe('policies cannot be empty when using client tokens');
      await secrets.root.read('scheduler/role/boss').expect(200, /"policies":\[\],"token_type":"management"/);
      await secrets.root.write('scheduler/role/boss', { policies: 'read' }).expect(204);
      await secrets.root.read('scheduler/role/boss').expect(200, /"global":true,.*"type":"client"/);
      await secrets.root.write('scheduler/config/lease', { ttl: '5m' }).expect(204);
      await secrets.root.read('scheduler/role/boss').expect(200, /"lease":"5m0s"/);
      await secrets.root.delete('scheduler/config/lease').expect(204);
    });

    it.each([
      [{ type: 'client' }, 'policies cannot be empty when using client tokens'],
      [{ type: 'management', policies: 'a' }, 'policies should be empty when using management tokens'],
      [{ type: 'zz', policies: 'a' }, 'type must be "client" or "management"'],
    ])('refuses %j', async (fields, text) => {
      const { body } = await secrets.root.write('scheduler/role/bad', fields).expect(400);
      expect(body.errors[0]).toBe(text);
      await secrets.root.read('scheduler/role/bad').expect(404);
    });

    it('are listed by both verbs (S21.8, S21.9)', async () => {
      const { body } = await secrets.root.list('scheduler/role').expect(200);
      expect(body.data.keys).toEqual(['boss', 'none', 'ops']);
    });

    it('that do not exist answer 404, and can be deleted (S23.1, S21.10, S23.3)', async () => {
      await secrets.root.read('scheduler/role/absent').expect(404, '{"errors":[]}\n');
      await secrets.root.delete('scheduler/role/absent').expect(204);
    });
  });

  describe('credentials', () => {
    it('are issued as the role says and end with their lease (S1.3, S1.5, S11.2, S21.11, SA.6, SP.15, SP.40)', async () => {
      await configure();
      const { body } = await secrets.root.read('scheduler/creds/ops').expect(200);
      expect(body).toMatchObject({ renewable: true, lease_duration: 2764800 });
      expect(body.lease_id).toMatch(/^scheduler\/creds\/ops\/[0-9A-Za-z]{24}$/);
      const [issued] = upstream.issued;
      expect(body.data).toEqual({ accessor_id: issued?.AccessorID, secret_id: issued?.SecretID });
      expect(issued).toMatchObject({ Type: 'client', Policies: ['read', 'deploy'], Global: false });
      expect(issued?.Name).toMatch(/^service-ops-root-\d{19}$/);
      await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
      expect(upstream.issued).toEqual([]);
    });

    it('are renewed by the current lease configuration', async () => {
      const { body } = await secrets.root.read('scheduler/creds/ops').expect(200);
      await secrets.root.write('scheduler/config/lease', { ttl: '10m', max_ttl: '1h' }).expect(204);
      const renewed = await secrets.root
        .write('sys/leases/renew', { lease_id: body.lease_id, increment: 7200 })
        .expect(200);
      expect(renewed.body.lease_duration).toBeLessThanOrEqual(3600);
      expect(renewed.body.lease_duration).toBeGreaterThan(3000);
      await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
      await secrets.root.delete('scheduler/config/lease').expect(204);
    });

    it('are refused for an unknown role', async () => {
      const { body } = await secrets.root.read('scheduler/creds/absent').expect(400);
      expect(body.errors).toEqual(['role "absent" not found']);
      await secrets.root.write('scheduler/creds/ops', {}).expect(405);
    });

    it('are refused if the scheduler lacks a policy of the role (SP.38)', async () => {
      await secrets.root.write('scheduler/role/lost', { policies: 'read,nosuch' }).expect(204);
      const { body } = await secrets.root.read('scheduler/creds/lost').expect(400);
      expect(body.errors[0]).toContain('nosuch');
      expect(upstream.issued).toEqual([]);
    });

    it('answer 502 naming the scheduler when it denies us', async () => {
      upstream.fail = (method, path) =>
        method === 'PUT' && path === '/v1/acl/token' ? { status: 403, text: 'Permission denied' } : undefined;
      const { body } = await secrets.root.read('scheduler/creds/ops').expect(502);
      expect(body.errors[0]).toContain('scheduler: Unexpected response code: 403 (Permission denied)');
      upstream.fail = () => undefined;
    });

    it.each([400, 500])('treat a missing token (%i) as revoked', async (status) => {
      const { body } = await secrets.root.read('scheduler/creds/ops').expect(200);
      const text = `Cannot delete nonexistent tokens: ${body.data.accessor_id}`;
      upstream.fail = (method) => (method === 'DELETE' ? { status, text } : undefined);
      upstream.tokens.delete(body.data.accessor_id);
      await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
      upstream.fail = () => undefined;
      await secrets.root.write('sys/leases/lookup', { lease_id: body.lease_id }).expect(400);
    });

    it('keep the lease while the scheduler cannot end the token', async () => {
      const { body } = await secrets.root.read('scheduler/creds/ops').expect(200);
      upstream.fail = (method) => (method === 'DELETE' ? { status: 500, text: 'no leader' } : undefined);
      const failed = await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(400);
      expect(failed.body.errors[0]).toContain('failed to revoke entry');
      upstream.fail = () => undefined;
      await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
      expect(upstream.issued).toEqual([]);
    });

    it('end with the token that made them', async () => {
      const child = await secrets.withPolicy('path "scheduler/creds/*" { capabilities = ["read"] }');
      await child.read('scheduler/creds/ops').expect(200);
      expect(upstream.issued).toHaveLength(1);
      await secrets.root.write('auth/token/revoke', { token: child.token }).expect(204);
      await until(() => upstream.issued.length === 0);
      expect(upstream.issued).toEqual([]);
    });
  });
});
