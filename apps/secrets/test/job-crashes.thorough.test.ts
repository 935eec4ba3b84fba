import { beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import type { Jobs } from '../src/kernel/storage/jobs';
import { add, newWriteSet } from '../src/kernel/storage/write-set';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

/** How a job is started, and what must be true at the end. */
interface Example {
  begin(name: string): Promise<{ readonly done: () => Promise<boolean> }>;
}

describe('a job whose node dies between a step and its record', () => {
  const clock = manualClock(Date.now());
  let dying: { kind: string; steps: number } | undefined;
  let slow: { reached: boolean; readonly until: Promise<void> } | undefined;
  const secrets = startSecrets({
    clock,
    fault: async (at) => {
      if (at === 'job:mount-move' && slow && !slow.reached) {
        slow.reached = true;
        await slow.until;
      }
      if (at !== `job:${dying?.kind}` || dying!.steps-- > 0) return;
      dying = undefined;
      throw new Error('the node died');
    },
  });
  const mountOf = (path: string) =>
    [...secrets.service.kernel.mounts.all()].find((mount) => mount.path === `${path}/`)!;
  /** Like a request that was slower than the upgrade of its mount. */
  const writeLate = async (mountId: string, path: string) => {
    const set = newWriteSet();
    add(set, 'puts', { mountId, path, value: Buffer.from('{"late":true}') });
    await secrets.service.kernel.committer.commit(set);
  };
  const childToken = async (fields: object = {}) =>
    (await secrets.root.write('auth/token/create', fields).expect(200)).body.auth.client_token as string;
  const isDead = async (token: string) => (await secrets.as(token).read('auth/token/lookup-self')).status === 403;
  /** Starts a job; returns whether it has ended. */
  const ending = async (kind: string, begin: () => PromiseLike<unknown>) => {
    const before = (await jobs().newest(kind, ''))?.id;
    await begin();
    return async () => {
      const newest = await jobs().newest(kind, '');
      return newest !== undefined && newest.id !== before && !newest.running;
    };
  };
  const jobs = () => (secrets.service.kernel.leases as unknown as { storage: { jobs: Jobs } }).storage.jobs;

  const examples: Record<string, Example> = {
    'revoke-prefix': {
      async begin() {
        const token = await childToken();
        await secrets.root.write('sys/leases/revoke-prefix/auth/token/create', {});
        return { done: () => isDead(token) };
      },
    },
    'lease-tidy': {
      async begin() {
        return { done: await ending('lease-tidy', () => secrets.root.write('auth/token/tidy', {}).expect(202)) };
      },
    },
    'token-tidy': {
      async begin() {
        const { uuid } = mountOf('cubbyhole');
        const left = `${'ab'.repeat(32)}/left`;
        await writeLate(uuid, left);
        const ended = await ending('token-tidy', () => secrets.root.write('auth/token/tidy', {}).expect(202));
        const gone = async () => (await secrets.service.kernel.entries.listDeep(uuid, '')).every((one) => one !== left);
        return { done: async () => (await ended()) && gone() };
      },
    },
    reseal: {
      async begin() {
        return { done: await ending('reseal', () => secrets.root.write('sys/rotate', {}).expect(204)) };
      },
    },
    'kv-upgrade': {
      async begin(name) {
        await secrets.root.write(`sys/mounts/${name}`, { type: 'kv' }).expect(204);
        await secrets.root.write(`${name}/a`, { n: 1 }).expect(204);
        const { uuid } = mountOf(name);
        await secrets.root.write(`sys/mounts/${name}/tune`, { options: { version: '2' } });
        const versioned = async () => mountOf(name).options?.version === '2';
        let late = false;
        const done = async () => {
          if (!(await versioned())) return false;
          if (!late) await writeLate(uuid, 'new/b');
          late = true;
          // Now the job looks for writes of slow requests.
          clock.advance(130_000);
          const [first, second] = await Promise.all(
            ['a', 'new/b'].map((one) => secrets.root.read(`${name}/data/${one}`)),
          );
          return first!.status === 200 && second!.status === 200;
        };
        return { done };
      },
    },
    'mount-move': {
      async begin(name) {
        await secrets.root.write(`sys/mounts/${name}`, { type: 'kv' }).expect(204);
        await secrets.root.write(`${name}/a`, { n: 1 }).expect(204);
        await secrets.root.write('sys/remount', { from: name, to: `${name}-moved` });
        return { done: async () => (await secrets.root.read(`${name}-moved/a`)).status === 200 };
      },
    },
    'namespace-removal': {
      async begin(name) {
        await secrets.root.write(`sys/namespaces/${name}`, {}).expect(200);
        await secrets.root.write(`${name}/sys/mounts/kv`, { type: 'kv' }).expect(204);
        await secrets.root.delete(`sys/namespaces/${name}`);
        return { done: async () => (await secrets.root.read(`sys/namespaces/${name}`)).status === 404 };
      },
    },
  };
  let kinds: string[];
  beforeAll(() => {
    kinds = [...(jobs() as unknown as { kinds: Map<string, unknown> }).kinds.keys()];
  });

  it('has an example of every kind', () => expect(Object.keys(examples).sort()).toEqual([...kinds].sort()));

  it.each(Object.keys(examples))('is completed by another node after any step: %s', async (kind) => {
    let died = true;
    for (let steps = 0; died; steps++) {
      // One request may start jobs of two kinds, and a running job is not started again.
      await until(async () => {
        clock.advance(3_000);
        return (await Promise.all(kinds.map((one) => jobs().newest(one, '')))).every((job) => !job?.running);
      });
      dying = { kind, steps };
      const { done } = await examples[kind]!.begin(`${kind}-${steps}`);
      // Retries are due.
      await until(async () => {
        clock.advance(3_000);
        return done();
      });
      died = dying === undefined;
      dying = undefined;
      expect(steps < 60).toBe(true);
      if (steps === 0) expect(died).toBe(true);
    }
  });

  it('overwrites no record of another node if its node was only slow', async () => {
    await secrets.root.write('sys/mounts/slow', { type: 'kv' }).expect(204);
    let goOn = () => {};
    const mine = { reached: false, until: new Promise<void>((resolve) => (goOn = resolve)) };
    slow = mine;
    const asked = secrets.root.write('sys/remount', { from: 'slow', to: 'slow-moved' }).then((answer) => answer);
    await until(() => mine.reached);
    const namespace = mountOf('slow-moved').namespaceId;
    const job = () => jobs().newest('mount-move', JSON.stringify([namespace, 'slow/', 'slow-moved/']));
    clock.advance(20_000);
    await until(async () => (await job())?.running === false);
    goOn();
    await asked;
    expect(await job()).toMatchObject({ running: false, done: 1 });
  });
});
