import { beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import type { z } from 'zod';
import { fieldMeta } from '../src/sdk/parameter-reading';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

describe('a stored secret', () => {
  const secrets = startSecrets();
  beforeAll(() => mountEveryKind(secrets));

  /** Every secret field that is written to a record. */
  const declared = () =>
    everyVisit(secrets).flatMap(({ name, at, verb, declared: { stored }, operation }) => {
      if (!stored || (verb !== 'write' && verb !== 'patch')) return [];
      const shape = operation.input?.shape ?? {};
      return Object.entries(shape).flatMap(([field, type]) => {
        const { json, sentTo } = fieldMeta(type as z.ZodType);
        return json?.format === 'password' ? [{ name, at, field, sentTo, shape, update: operation.update }] : [];
      });
    });

  it('is declared with the address it is sent to', () => {
    const all = declared();
    expect(all.length).toBeGreaterThan(7);
    for (const { name, field, sentTo, shape } of all) {
      expect([name, field, sentTo]).toEqual([name, field, expect.any(Array)]);
      expect([name, field, sentTo!.filter((target) => !(target in shape))]).toEqual([name, field, []]);
    }
  });

  it('stays if only the case of an address changes', async () => {
    const at = 'auth/ldap/config';
    await secrets.root.write(at, { url: 'ldap://127.0.0.1:1', binddn: 'cn=svc', bindpass: 'ours' }).expect(204);
    await secrets.root.write(at, { url: 'LDAP://127.0.0.1:1' }).expect(204);
  });

  it('must be sent again with a new address, for every write that keeps omitted fields', async () => {
    // The stored configuration, and another value for each field that decides where its secret is sent.
    const examples: Record<string, { first: object; others: Record<string, unknown>; along?: object }> = {
      'write auth/ldap/config': {
        first: { url: 'ldap://127.0.0.1:1', binddn: 'cn=svc', bindpass: 'ours' },
        others: { url: 'ldap://127.0.0.2:1', starttls: true, insecure_tls: true, certificate: testCertificate.cert },
      },
      'write kubernetes/config': {
        first: { kubernetes_host: 'https://127.0.0.1:1', service_account_jwt: 'ours' },
        others: { kubernetes_host: 'https://127.0.0.2:1', kubernetes_ca_cert: testCertificate.cert },
      },
      'write database/config/:name': {
        first: {
          plugin_name: 'postgresql-database-plugin',
          connection_url: 'postgresql://127.0.0.1:1/x',
          username: 'svc',
          password: 'ours',
          verify_connection: false,
        },
        along: { verify_connection: false },
        others: {
          connection_url: 'postgresql://127.0.0.2:1/x',
          host: '127.0.0.2',
          port: 2,
          tls: true,
          tls_ca: testCertificate.cert,
          ca_cert: testCertificate.cert,
          tls_server_name: 'other',
          tls_skip_verify: true,
          insecure_tls: true,
        },
      },
      'write scheduler/config/access': {
        first: { address: 'http://127.0.0.1:1', token: 'ours' },
        others: { address: 'http://127.0.0.2:1', ca_cert: testCertificate.cert },
      },
    };
    const merging = declared().filter(({ update, sentTo }) => update === 'merge' && sentTo!.length > 0);
    expect([...new Set(merging.map(({ name }) => name))].sort()).toEqual(Object.keys(examples).sort());
    for (const { name, at, sentTo } of new Map(merging.map((one) => [one.name, one])).values()) {
      const { first, others, along } = examples[name]!;
      const secretFields = merging.filter((one) => one.name === name).map((one) => [one.field, '']);
      expect(Object.keys(others)).toEqual(sentTo);
      await secrets.root.write(at, first).expect(204);
      const before = (await secrets.root.read(at).expect(200)).body.data;
      for (const [target, value] of Object.entries(others)) {
        const { body } = await secrets.root.write(at, { [target]: value }).expect(400);
        expect(body.errors[0]).toContain(`: must be sent again with another ${target}`);
      }
      expect((await secrets.root.read(at).expect(200)).body.data).toEqual(before);
      await secrets.root.write(at, { ...others, ...along, ...Object.fromEntries(secretFields) }).expect(204);
      await secrets.root.write(at, first).expect(204);
    }
  });
});

/** Fields that are named like a secret but are not secret. */
const notSecret: Readonly<Record<string, string>> = {
  access_key: 'names the key',
  key: 'names a signing key, a team or an organization',
  peer_public_key: 'public',
  pgp_key: 'public',
  public_key: 'public',
  root_token_pgp_key: 'public',
  wait_for_key: 'says whether to wait',
};

describe('a field with the name of a secret', () => {
  const secrets = startSecrets();
  beforeAll(() => mountEveryKind(secrets));

  it('is kept out of error messages, and so out of audit lines', () => {
    const named = /(^|_)(token|password|passcode|pass|bindpass|secret|jwt|key|share|code|verifier|secret_id)$/;
    const found = everyVisit(secrets).flatMap(({ name, operation }) =>
      Object.entries(operation.input?.shape ?? {}).flatMap(([field, type]) => {
        const { json } = fieldMeta(type as z.ZodType);
        const isOpen = json.type === 'string' && json.format !== 'password' && !json.enum;
        return named.test(field) && isOpen ? [{ name, field }] : [];
      }),
    );
    const shares = /sys\/(unseal|re\w+|generate-root\S*)\b/;
    expect(found.filter(({ name, field }) => !(field in notSecret) || (field === 'key' && shares.test(name)))).toEqual(
      [],
    );
    expect(new Set(found.map(({ field }) => field))).toEqual(new Set(Object.keys(notSecret)));
  });
});
