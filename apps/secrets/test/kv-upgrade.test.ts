import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { newWriteSet } from '../src/kernel/storage/write-set';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

describe('a kv mount that gets versions', () => {
  const clock = manualClock(Date.now());
  const secrets = startSecrets({ clock });
  const upgrade = (mount: string) => secrets.root.write(`sys/mounts/${mount}/tune`, { options: { version: '2' } });

  it('has each secret as its first version, under any name', async () => {
    await secrets.root.write('sys/mounts/kv', { type: 'kv' }).expect(204);
    const accessor = (await secrets.root.read('sys/mounts/kv').expect(200)).body.data.accessor;
    const names = ['a', 'b/c', 'meta/a', 'data/1/a', 'data/a', 'config'];
    for (const name of names) await secrets.root.write(`kv/${name}`, { name, big: '12345678901234567890' }).expect(204);
    await upgrade('kv').expect(204);
    for (const name of names) {
      const { body } = await secrets.root.read(`kv/data/${name}`).expect(200);
      expect(body.data).toMatchObject({ data: { name, big: '12345678901234567890' }, metadata: { version: 1 } });
    }
    expect((await secrets.root.scan('kv/metadata').expect(200)).body.data.keys).toEqual([...names].sort());
    const mount = (await secrets.root.read('sys/mounts/kv').expect(200)).body.data;
    expect(mount).toMatchObject({ accessor, options: { version: '2' } });
    await secrets.root.write('kv/data/a', { data: { name: 'second' } }).expect(200);
    expect((await secrets.root.read('kv/data/a').expect(200)).body.data.metadata.version).toBe(2);
    await upgrade('kv').expect(204);
  });

  it('is not reported as absent during the upgrade, and loses no concurrent write', async () => {
    await secrets.root.write('sys/mounts/busy', { type: 'kv' }).expect(204);
    await secrets.root.write('busy/a', { n: 'first' }).expect(204);
    let over = false;
    const acknowledged = new Map<string, number>();
    const seen = new Set<number>();
    const writer = async (name: string) => {
      for (let n = 1; !over; n++) {
        const { status } = await secrets.root.write(`busy/${name}`, { n });
        seen.add(status);
        if (status < 300) acknowledged.set(name, n);
        // The request is for a path that the other version does not have.
        if (status === 404) return;
      }
    };
    const writers = ['w1', 'w2', 'w3'].map(writer);
    await until(() => acknowledged.size === 3);
    const [answer] = await Promise.all([upgrade('busy'), upgrade('busy')]);
    expect([204, 503]).toContain(answer.status);
    await until(async () => (await secrets.root.read('busy/data/a')).status === 200);
    over = true;
    await Promise.all(writers);
    expect([...seen].filter((status) => ![204, 503, 404].includes(status))).toEqual([]);
    for (const [name, n] of acknowledged) {
      expect((await secrets.root.read(`busy/data/${name}`).expect(200)).body.data.data).toEqual({ n });
    }
  });

  it('adopts a value that a slower request wrote, as the newest version', async () => {
    await secrets.root.write('sys/mounts/late', { type: 'kv' }).expect(204);
    await secrets.root.write('late/a', { n: 1 }).expect(204);
    await upgrade('late').expect(204);
    const mount = [...secrets.service.kernel.mounts.all()].find(({ path }) => path === 'late/')!;
    for (const path of ['a', 'new/b']) {
      const { kernel } = secrets.service;
      const puts = [{ mountId: mount.uuid, path, value: Buffer.from(`{"n":2}`) }];
      await kernel.committer.commit({ ...newWriteSet(), puts });
    }
    clock.advance(130_000);
    await until(async () => (await secrets.root.read('late/data/new/b')).status === 200);
    const { body } = await secrets.root.read('late/data/a').expect(200);
    expect(body.data).toMatchObject({ data: { n: 2 }, metadata: { version: 2 } });
    expect(await secrets.service.kernel.entries.listDeep(mount.uuid, 'new/')).toEqual([]);
  });

  it('keeps its versions, and cannot be downgraded', async () => {
    const to = (options: object) => secrets.root.write('sys/mounts/kv/tune', { options });
    await to({ version: '1' }).expect(400, /cannot be disabled/);
    await to({ version: '3' }).expect(400, /option version of kv must be 1 or 2/);
    await to({ upgrading: 'true' }).expect(400, /is set only by an upgrade/);
    await secrets.root.write('sys/mounts/bad', { type: 'kv', options: { upgrading: 'true' } }).expect(400);
  });
});
