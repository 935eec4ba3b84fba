import { describe, expect, it } from '@jest/globals';
import type { LiveMount } from '../../../kernel/mounts/mount';
import { OpenApiDocuments } from '../../../openapi/document';
import { path } from '../../../sdk/path';
import { empty } from '../../../sdk/reply';
import { documentOf } from './openapi';
import type { PreflightParts } from './preflight';

describe('the document of a caller with many rules', () => {
  it('is built without blocking other requests', async () => {
    const paths = Array.from({ length: 20 }, (_, n) =>
      path(`thing${n}`, { summary: 'A thing.', delete: { summary: 'Delete it.', run: async () => empty } }),
    );
    const tree = { foldingOf: () => undefined };
    const mount = { path: 'x/', type: 'x', tainted: false, tree, backend: { type: 'x', kind: 'secret', paths } };
    const documents = new OpenApiDocuments({
      version: '1',
      mountsVersion: () => 1,
      mounts: () => [mount as unknown as LiveMount],
    });
    let turn = 0;
    let counting = true;
    const count = () => {
      turn++;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const looks = new Map<number, number>();
    // Checking fifty thousand rules takes longer than one slice.
    const grantsSome = () => {
      looks.set(turn, (looks.get(turn) ?? 0) + 1);
      for (const untilMs = performance.now() + 12; performance.now() < untilMs; );
      return true;
    };
    const parts = {
      tokens: { findByHash: async () => ({ namespaceId: 'root', policies: [] }) },
      access: { of: () => ({ grantsSome }) },
      namespaces: { find: () => ({ path: '' }) },
    } as unknown as PreflightParts;
    const made = documentOf(parts, documents, '00', 'root', false);
    await made.finally(() => {
      counting = false;
    });
    const { bytes } = await made;
    expect(Object.keys(JSON.parse(bytes.toString()).paths)).toHaveLength(20);
    expect([...looks.values()].every((many) => many === 1)).toBe(true);
    expect(looks.size).toBe(20);
  });
});
