import { describe, expect, it } from '@jest/globals';
import type { StorageKernel } from '../../../kernel/storage/storage';
import { Origins } from './origins';

/** A storage that a test can make unavailable, and a sender of notices. */
function standIn() {
  const listeners: (() => void)[] = [];
  const tasks: (() => Promise<unknown>)[] = [];
  const parts = { away: false, stored: undefined as object | undefined };
  const findUnique = async () => {
    if (parts.away) throw new Error('the database is down');
    return parts.stored === undefined ? null : { value: parts.stored };
  };
  const storage = {
    changes: { fresh: true, listen: (_topic: string, listener: () => void) => void listeners.push(listener) },
    background: { every: (_name: string, _ms: number, task: () => Promise<unknown>) => void tasks.push(task) },
    database: { prisma: { setting: { findUnique } } },
  } as unknown as StorageKernel;
  const tell = () => {
    for (const listener of listeners) listener();
  };
  return { parts, storage, tell, tick: () => Promise.all(tasks.map((task) => task().catch(() => undefined))) };
}

describe('the rules about web pages', () => {
  it('are read once the database is back, if a notice of a change arrived while it was down', async () => {
    const { parts, storage, tell, tick } = standIn();
    const origins = new Origins(storage);
    await origins.refresh();
    expect(origins.current.enabled).toBe(false);
    parts.away = true;
    parts.stored = { allowedOrigins: ['https://ui.test'], allowedHeaders: [] };
    tell();
    await tick();
    expect(origins.current.enabled).toBe(false);
    parts.away = false;
    await tick();
    expect(origins.current).toMatchObject({ enabled: true, allowedOrigins: ['https://ui.test'] });
  });
});
