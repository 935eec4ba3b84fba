import { beforeAll, describe, expect, it } from '@jest/globals';
import { withSecondNode } from './second-node';
import { startSecrets } from './start-secrets';
import { type VersionWrite, versionProblems } from './version-history';

const callers = 32;
/** The keys that a caller patches; every second call is a patch. */
const patches = 12;
const callsEach = process.env.KEYSTEAD_LONG === '1' ? 300 : 12;

describe('one secret written by many on two nodes', () => {
  const secrets = startSecrets();
  const nodes = withSecondNode(secrets);

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
  });

  const ask = async (caller: number, method: string, path: string, body?: object) => {
    const response = await fetch(`${nodes[caller % nodes.length]}/v1/${path}`, {
      method,
      headers: {
        'X-Service-Token': secrets.rootToken,
        'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const allCallers = (work: (caller: number, call: number) => Promise<void>) =>
    Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let call = 0; call < callsEach; call++) await work(caller, call);
      }),
    );
  const finalOf = async (path: string) => {
    const { current_version, versions } = (await secrets.root.read(`two/metadata/${path}`).expect(200)).body.data;
    const values = new Map<number, string>();
    for (const version of Object.keys(versions)) {
      const { body } = await secrets.root.read(`two/data/${path}?version=${version}`);
      values.set(Number(version), body.data.data.value);
    }
    return { current: current_version as number, values };
  };

  it('gives every write its own version and loses none', async () => {
    const history: VersionWrite[] = [];
    await allCallers(async (caller, call) => {
      const value = `${caller}.${call}`;
      const began = performance.now();
      const { status, body } = await ask(caller, 'POST', 'two/data/plain', { data: { value } });
      expect([status, body.errors]).toEqual([200, undefined]);
      history.push({ value, version: body.data.version, began, ended: performance.now() });
    });
    const final = await finalOf('plain');
    expect(final.current).toBe(callers * callsEach);
    expect(versionProblems(history, final)).toEqual([]);
  });

  it('grants check-and-set only to callers who name the current version', async () => {
    const history: VersionWrite[] = [];
    let known = 0;
    await allCallers(async (caller, call) => {
      const value = `${caller}.${call}`;
      const cas = call % 4 === 3 ? undefined : known;
      const began = performance.now();
      const options = cas === undefined ? {} : { cas };
      const { status, body } = await ask(caller, 'POST', 'two/data/checked', { data: { value }, options });
      const ended = performance.now();
      if (status === 400) expect(body.errors).toEqual(['check-and-set parameter did not match the current version']);
      else expect(status).toBe(200);
      const version = status === 200 ? (body.data.version as number) : null;
      if (version !== null) known = Math.max(known, version);
      history.push({ cas, value, version, began, ended });
    });
    expect(history.filter(({ version }) => version === null).length).toBeGreaterThan(0);
    expect(history.filter(({ version, cas }) => cas !== undefined && version !== null).length).toBeGreaterThan(0);
    expect(versionProblems(history, await finalOf('checked'))).toEqual([]);
  });

  it('applies every patch and every metadata change', async () => {
    await ask(0, 'POST', 'two/data/patched', { data: { value: 'whole' } });
    await allCallers(async (caller, call) => {
      const [path, body] =
        call % 2 === 0
          ? ['two/data/patched', { data: { [`k${caller}.${call % patches}`]: 'set' } }]
          : ['two/metadata/patched', { custom_metadata: { [`k${caller}`]: 'set' } }];
      const { status } = await ask(caller, 'PATCH', path as string, body as object);
      expect([200, 204]).toContain(status);
    });
    const { data, metadata } = (await secrets.root.read('two/data/patched').expect(200)).body.data;
    expect(Object.keys(data)).toHaveLength(1 + callers * (patches / 2));
    expect(Object.keys(metadata.custom_metadata)).toHaveLength(callers);
  });

  it('loses nothing that was written while secrets are moved away', async () => {
    await secrets.root.write('two/config', { max_versions: 10_000 }).expect(204);
    const kept: string[] = [];
    const answers = new Set<number>();
    await allCallers(async (caller, call) => {
      const value = `${caller}.${call}`;
      const from = `here/${call % 3}`;
      if (caller % 2 === 0)
        answers.add((await ask(caller >> 1, 'POST', 'two/move', { from, to: `there/${value}` })).status);
      else {
        await ask(caller >> 1, 'POST', `two/data/${from}`, { data: { value } });
        kept.push(value);
      }
    });
    expect([...answers].sort().join()).toMatch(/^200(,404)?$/);
    const left: string[] = (await secrets.root.scan('two/metadata/').expect(200)).body.data.keys;
    const found: string[] = [];
    for (const path of left.filter((one) => /^(?:here|there)\//.test(one)))
      found.push(...(await finalOf(path)).values.values());
    expect(found.sort()).toEqual(kept.sort());
  });
});
