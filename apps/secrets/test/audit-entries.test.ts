import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const queryText = (query: Readonly<Record<string, string | number>>): string =>
  new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString();

describe('lines of the audit table', () => {
  const secrets = startSecrets({ env: { SECRETS_AUDIT_TABLE: 'on' } });
  const search = async (query: Record<string, string | number> = {}) => {
    const text = queryText(query);
    return (await secrets.root.read(`sys/audit-chain/entries?${text}`).expect(200)).body.data;
  };
  // biome-ignore lint/suspicious/noExplicitAny: lines are as they were written
  const paths = (found: any) => found.entries.map(({ entry }: any) => entry.request.path);

  it('are found by time, path, accessor, entity, request and operation, newest first', async () => {
    const before = new Date(Date.now() - 1000).toISOString();
    const holder = await secrets.withPolicy('path "cubbyhole/*" { capabilities = ["create", "update", "delete"] }');
    await secrets.root.write('cubbyhole/one', { v: 'first value' }).expect(204);
    await secrets.root.write('cubbyhole/two', { v: 'second value' }).expect(204);
    await holder.write('cubbyhole/three', { v: 'x' }).expect(204);
    await holder.delete('cubbyhole/three').expect(204);
    const all = await search({ since: before, path: 'cubbyhole/' });
    expect(paths(all)).toEqual(['cubbyhole/three', 'cubbyhole/three', 'cubbyhole/two', 'cubbyhole/one']);
    expect(all.next).toBeNull();
    expect(JSON.stringify(all)).not.toMatch(/first value|second value/);
    expect(paths(await search({ path: 'cubbyhole/t' }))).toHaveLength(3);
    expect(paths(await search({ path: 'cubbyhole/%' }))).toEqual([]);
    const looked = await secrets.root.write('auth/token/lookup', { token: holder.token }).expect(200);
    const { accessor } = looked.body.data;
    const mine = await search({ accessor });
    expect(paths(mine)).toEqual(['cubbyhole/three', 'cubbyhole/three']);
    const hashed = mine.entries[0].entry.auth.accessor;
    expect(hashed).toMatch(/^hmac-sha256:/);
    expect(paths(await search({ accessor: hashed, operation: 'delete' }))).toEqual(['cubbyhole/three']);
    const [{ entry }] = mine.entries;
    expect(paths(await search({ request_id: entry.request.id }))).toEqual(['cubbyhole/three']);
    expect(paths(await search({ entity_id: '00000000-0000-4000-8000-000000000000' }))).toEqual([]);
    expect(paths(await search({ until: before, path: 'cubbyhole/' }))).toEqual([]);
  });

  it('are not written for health checks', async () => {
    await secrets.anonymous.read('sys/health').expect(200);
    await secrets.root.read('sys/health?standbyok=true').expect(200);
    await secrets.root.write('sys/policies/acl/after-a-probe', { policy: 'path "a" {}' }).expect(204);
    const written = paths(await search({ path: 'sys/' }));
    expect(written).toContain('sys/policies/acl/after-a-probe');
    expect(written).not.toContain('sys/health');
  });

  it('come in pages that miss none and repeat none', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => secrets.root.write(`cubbyhole/many${i}`, { v: 1 }).expect(204)),
    );
    for (const limit of [1, 7, 1000]) {
      const seen: string[] = [];
      let after = '';
      do {
        const page = await search({ path: 'cubbyhole/many', limit, ...(after && { after }) });
        expect(page.entries.length).toBeLessThanOrEqual(limit);
        seen.push(...paths(page));
        after = page.next;
      } while (after);
      expect(new Set(seen).size).toBe(40);
      expect(seen).toHaveLength(40);
    }
  });

  it.each([
    ['limit', { limit: 0 }],
    ['limit', { limit: 1001 }],
    ['since', { since: 'yesterday' }],
    ['until', { until: '12:00' }],
    ['after', { after: 'x' }],
  ] as [string, Record<string, string | number>][])('refuse a bad %s by name', async (field, query) => {
    const text = queryText(query);
    const { body } = await secrets.root.read(`sys/audit-chain/entries?${text}`).expect(400);
    expect(body.errors.join()).toContain(field);
  });

  it('need sudo', async () => {
    const reader = await secrets.withPolicy('path "sys/audit-chain/entries" { capabilities = ["read"] }');
    await reader.read('sys/audit-chain/entries').expect(403);
    const auditor = await secrets.withPolicy('path "sys/audit-chain/entries" { capabilities = ["read", "sudo"] }');
    await auditor.read('sys/audit-chain/entries').expect(200);
  });
});
