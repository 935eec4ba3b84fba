import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { fieldMeta } from '../src/sdk/parameter-reading';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

describe('the lines of the audit log', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'audit-lines-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file } });
  beforeAll(() => mountEveryKind(secrets));
  const lines = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const hashOf = async (input: string) =>
    (await secrets.root.write('sys/audit-hash/file', { input }).expect(200)).body.data.hash as string;
  const linesOf = (at: string) => lines().filter(({ request }) => request?.path === at);

  it('hold no token in the clear that was sent in any field, neither as a value nor as a key', async () => {
    const canary = `hvs.${randomBytes(18).toString('base64url')}`;
    // Operations that would stop or seal the service for the following requests.
    const ending = /^(sys\/)?(seal|step-down|init|rekey|generate-root|rotate|raw|unseal)/;
    const visits = everyVisit(secrets).filter(({ at, verb }) => !ending.test(at) && verb !== 'delete');
    let sent = 0;
    for (const { at, verb, operation } of visits) {
      const fields = Object.entries(operation.input?.shape ?? {}).flatMap(([name, type]): [string, unknown][] => {
        const { type: kind } = fieldMeta(type as z.ZodType).json ?? {};
        if (operation.auditClear === 'all' || operation.auditClear?.includes(name)) return [];
        if (kind === 'string') return [[name, canary]];
        return kind === 'array' ? [[name, [canary]]] : [];
      });
      if (fields.length === 0 || (verb !== 'write' && verb !== 'patch')) continue;
      sent += 1;
      // Lists are also sent without other fields: their items may be keys of the answer, and with all fields most
      // requests are refused.
      for (const some of [fields, ...fields.filter(([, value]) => Array.isArray(value)).map((one) => [one])]) {
        await secrets.root[verb](at, Object.fromEntries(some));
      }
    }
    await secrets.root.write('cubbyhole/odd', { [canary]: { [canary]: 1 } }).expect(204);
    await secrets.root.read('cubbyhole/odd').expect(200);
    expect(sent).toBeGreaterThan(60);
    const shown = lines().filter(({ request, response }) =>
      JSON.stringify([request?.data, response?.data]).includes(canary),
    );
    expect(shown.map(({ request }) => request.path)).toEqual([]);
  }, 120_000);

  it('hash the names in detailed lists as in plain ones', async () => {
    await secrets.root.write('auth/approle/role/listed', {}).expect(204);
    await secrets.root.write('auth/approle/role/listed/secret-id', {}).expect(200);
    const { body } = await secrets.root.list('auth/approle/role/listed/secret-id').expect(200);
    const [accessor] = body.data.keys;
    const text = JSON.stringify(linesOf('auth/approle/role/listed/secret-id').map(({ response }) => response?.data));
    expect(text).toContain(await hashOf(accessor));
    expect(text).not.toContain(accessor);
  });

  it('hash numbers by their digits, in requests and answers', async () => {
    await secrets.root
      .write('two/data/numbers', '{"data":{"pin":4711881,"long":12345678901234567890,"deep":[1.10]}}')
      .set('Content-Type', 'application/json')
      .expect(200);
    await secrets.root.read('two/data/numbers').expect(200);
    const pin = await hashOf('4711881');
    const [long, deep] = await Promise.all(['12345678901234567890', '1.10'].map(hashOf));
    const found = linesOf('two/data/numbers');
    expect(found.at(-4).request.data.data).toEqual({ pin, long, deep: [deep] });
    expect(found.at(-1).response.data.data).toEqual({ pin, long, deep: [deep] });
    expect(JSON.stringify(found)).not.toContain('4711881');
  });

  it('leave fields in the clear that the mount lists, at any depth, in requests or answers', async () => {
    await secrets.root
      .write('sys/mounts/two/tune', {
        audit_non_hmac_request_keys: ['value1', 'data'],
        audit_non_hmac_response_keys: ['created_time', 'count'],
      })
      .expect(204);
    const data = { value1: 'shown', other: 'hidden', count: 7, list: [{ value1: ['a', 2] }] };
    await secrets.root.write('two/data/named', { data }).expect(200);
    await secrets.root.read('two/data/named').expect(200);
    const found = linesOf('two/data/named');
    const hidden = await hashOf('hidden');
    expect(found[0].request.data.data).toMatchObject({
      value1: 'shown',
      other: hidden,
      count: await hashOf('7'),
      list: [{ value1: ['a', 2] }],
    });
    const answered = found.at(-1).response.data;
    expect(answered.data).toMatchObject({ value1: await hashOf('shown'), other: hidden, count: 7 });
    expect(answered.metadata.created_time).toMatch(/^\d{4}-/);
  });

  it('record requests for help and their answers', async () => {
    await secrets.root.read('cubbyhole/of-help?help=1').expect(200);
    expect(linesOf('cubbyhole/of-help').map(({ type }) => type)).toEqual(['request', 'response']);
  });

  it('have a generated id, next to the one that the caller sent', async () => {
    for (let i = 0; i < 2; i++) {
      await secrets.root.read('cubbyhole/of-an-id').set('X-Request-Id', 'id-of-another').expect(404);
    }
    const found = linesOf('cubbyhole/of-an-id');
    expect(found.map(({ request }) => request.sent_id)).toEqual(Array(4).fill('id-of-another'));
    expect(new Set(found.map(({ request }) => request.id)).size).toBe(2);
  });
});
