import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Barrier } from '../storage/types';
import { Audit, type AuditedRequest } from './audit';

describe('the audit lines of a large request', () => {
  it('are built once, even if the line of its answer is written in the meantime', async () => {
    const key = randomBytes(32);
    const audit = new Audit({ derive: () => key } as unknown as Barrier, { warn: () => {} });
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`field ${at}`, 'some value']));
    const text = JSON.stringify(fields);
    const request = (): AuditedRequest => ({
      id: 'one',
      operation: 'update',
      path: 'cubbyhole/large',
      namespace: { id: 'root', path: '' },
      fields,
      sent: { bytes: text.length, text },
      address: '127.0.0.1',
      wrapTtlSeconds: 0,
    });
    const [once, twice] = [request(), request()];
    await audit.prepare(once);
    const first = audit.prepare(twice);
    await Promise.all([first, audit.prepare(twice)]);
    expect(once.text).toContain(`"body":{"bytes":${text.length},"hash":`);
    expect(twice.text).toBe(once.text);
  });
});
