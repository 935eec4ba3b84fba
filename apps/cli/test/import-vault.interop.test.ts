import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ReferenceServer, startReferenceServer } from '../../secrets/test/interop/reference-server';
import { startSecrets } from '../../secrets/test/start-secrets';
import { keystead } from './run-keystead';
import {
  confidential,
  exact,
  expectAllHere,
  expectEnginesHere,
  expectNamed,
  furnish,
  furnishEngines,
  ofEngines,
  type Write,
} from './vault-scenario';

// An import from a real server, if KEYSTEAD_REFERENCE_SERVER names its program (`bao` or `vault`).

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const withServer = program ? describe : describe.skip;
const why = program ? '' : ' (skipped: KEYSTEAD_REFERENCE_SERVER names no program)';
jest.setTimeout(240_000);

withServer(`an import from a real server${why}`, () => {
  const here = startSecrets();
  let other: ReferenceServer;
  const write: Write = (path, body, namespace, method = 'POST') =>
    other.speaker.must({
      method,
      path: encodeURI(path),
      body,
      token: other.rootToken,
      headers: namespace ? { 'X-Vault-Namespace': namespace } : {},
    });
  const run = (...more: string[]) =>
    keystead(['import', 'vault', '-from', other.address, '-rate=0', '-format=json', ...more], {
      IMPORT_TOKEN: other.rootToken,
      SERVICE_TOKEN: here.rootToken,
      SERVICE_ADDR: `http://127.0.0.1:${((here.server as Server).address() as AddressInfo).port}`,
      HOME: '/nonexistent',
    });

  beforeAll(async () => {
    other = await startReferenceServer(String(program));
    const read = (path: string) => other.speaker.must({ method: 'GET', path, token: other.rootToken });
    await furnish(write, read, 'rabbitmq');
    await write('old/exact', JSON.parse(exact.replace('12345678901234567890', '"digits"')));
  });
  afterAll(() => other.stop());

  it('copies all supported content, names the rest, and shows no value', async () => {
    const ran = await run();
    expect([ran.code, JSON.parse(ran.printed).failed]).toEqual([0, []]);
    await expectAllHere(here.root, here.as(here.rootToken, { 'X-Service-Namespace': 'team' }));
    expectNamed([ran], 'rabbitmq');
    expect(ran.printed + ran.said).not.toContain(confidential);
  });

  it('copies nothing twice', async () => {
    expect(JSON.parse((await run()).printed).created).toEqual({});
  });

  it('copies keys of transit with their versions, and the settings of engines', async () => {
    const engines = await furnishEngines(write);
    const ran = await run();
    expect([ran.code, JSON.parse(ran.printed).failed]).toEqual([0, []]);
    await expectEnginesHere(here.root, engines);
    expect(JSON.parse(ran.printed).left).toEqual(expect.arrayContaining([...ofEngines]));
    expect(ran.printed + ran.said).not.toContain(confidential);
    expect(JSON.parse((await run()).printed).created).toEqual({});
  });

  it('copies more secrets than fit on one page', async () => {
    for (let n = 0; n < 1_203; n += 1) await write(`old/many/${n}`, { n });
    const ran = await run();
    expect(JSON.parse(ran.printed).created).toEqual({ secret: 1_203 });
  });
});
