import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { configuration } from './collection';
import type { Storage } from './storage';

/** The part of a mount's storage that records use. */
function memory(entries: Record<string, string> = {}) {
  const values = new Map(Object.entries(entries));
  const storage = {
    get: async (key: string) => values.get(key),
    read: async (key: string, parse: (text: string) => unknown) =>
      values.has(key) ? parse(values.get(key)!) : undefined,
    put: (key: string, value: string) => void values.set(key, value),
    delete: (key: string) => void values.delete(key),
  };
  return { kept: values, storage: storage as unknown as Storage };
}

describe('the configuration of an outside system', () => {
  const config = configuration('config', z.object({ url: z.string() }));
  const here = { url: 'https://here' };

  it('has a new generation after every write and deletion, even an equal one', async () => {
    const { storage } = memory();
    const states = [await config.inForce(storage)];
    for (const change of [
      () => config.put(storage, here),
      () => config.put(storage, here),
      () => config.delete(storage),
    ]) {
      change();
      states.push(await config.inForce(storage));
    }
    config.put(storage, here, 'told');
    states.push(await config.inForce(storage));
    expect(states.map(({ value }) => value)).toEqual([undefined, here, here, undefined, here]);
    expect(states[0]!.generation).toBe('');
    expect(states[4]!.generation).toBe('told');
    expect(new Set(states.map(({ generation }) => generation)).size).toBe(5);
  });

  it('is returned without its generation', async () => {
    const { storage } = memory();
    config.put(storage, here);
    expect(await config.find(storage)).toEqual(here);
    expect(await config.require(storage)).toEqual(here);
    config.delete(storage);
    expect(await config.find(storage)).toBeUndefined();
    await expect(config.require(storage)).rejects.toThrow('config is not configured');
    await expect(config.require(storage, 'write it first')).rejects.toThrow('write it first');
  });

  it('has no generation if an earlier version wrote it', async () => {
    const { storage } = memory({ config: JSON.stringify(here) });
    expect(await config.inForce(storage)).toEqual({ value: here, generation: '' });
  });
});
