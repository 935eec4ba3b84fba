import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover, type Victim, victims } from './kills';

// A short form always; --long kills fifty times.
const rounds = process.env.KEYSTEAD_LONG ? 50 : victims.length;
const WRITERS = 4;
const BETWEEN_MS = 300;

/** What was promised: the address to ask, and what it must answer. */
interface Promised {
  address: string;
  expected: object;
}

describe('what was acknowledged', () => {
  let installation: TestInstallation;
  beforeAll(async () => {
    installation = await createInstallation();
    await installation.start();
  }, 400_000);
  afterAll(() => installation.remove());

  it('survives kill -9 of every process under writing load', async () => {
    const { secrets, workspaces } = installation.firstRun();
    const secretsHeaders = { 'X-Service-Token': secrets.root_token };
    const workspacesHeaders = {
      Authorization: `Bearer ${workspaces.token}`,
      'Content-Type': 'application/vnd.api+json',
    };
    const api = `${workspaces.address}/api/v2/organizations`;
    expect(await send(`${secrets.address}/v1/sys/mounts/kept`, secretsHeaders, { type: 'kv' })).toBe(204);
    expect(await send(api, workspacesHeaders, organization('kept'))).toBe(201);

    const promised: Promised[] = [];
    const refused: number[] = [];
    let running = true;
    let number = 0;
    async function write(): Promise<void> {
      while (running) {
        number += 1;
        const name = `n-${number}`;
        const secret = `${secrets.address}/v1/kept/${name}`;
        const status = await send(secret, secretsHeaders, { number: name });
        if (status === 204) promised.push({ address: secret, expected: { data: { number: name } } });
        const created = await send(`${api}/kept/workspaces`, workspacesHeaders, workspace(name));
        if (created === 201) {
          const address = `${api}/kept/workspaces/${name}`;
          promised.push({ address, expected: { data: { attributes: { name } } } });
        }
        for (const one of [status, created]) if (one !== undefined && one >= 400 && one < 500) refused.push(one);
      }
    }

    const writers = Array.from({ length: WRITERS }, () => write());
    const killed = new Map<Victim, number>();
    for (let round = 0; round < rounds; round++) {
      const victim = victims[round % victims.length]!;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * BETWEEN_MS));
      await killAndRecover(installation, victim);
      killed.set(victim, (killed.get(victim) ?? 0) + 1);
    }
    running = false;
    await Promise.all(writers);

    const lost: string[] = [];
    for (const { address, expected } of promised) {
      const headers = address.startsWith(secrets.address) ? secretsHeaders : workspacesHeaders;
      const response = await fetch(address, { headers: headers as Record<string, string> });
      const body = await response.json().catch(() => undefined);
      try {
        expect(body).toMatchObject(expected);
      } catch {
        lost.push(`${address}: ${response.status}`);
      }
    }
    process.stderr.write(
      `killed ${JSON.stringify(Object.fromEntries(killed))}: ${promised.length} acknowledged, ${lost.length} lost\n`,
    );
    expect(lost).toEqual([]);
    expect(refused).toEqual([]);
    expect(promised.length).toBeGreaterThan(rounds);
  }, 1_200_000);
});

/** The status of the answer; undefined when there was none, as while a process is being started again. */
async function send(address: string, headers: Record<string, string>, body: object): Promise<number | undefined> {
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return undefined;
  }
}

const organization = (name: string) => ({
  data: { type: 'organizations', attributes: { name, email: `${name}@example.com` } },
});
const workspace = (name: string) => ({ data: { type: 'workspaces', attributes: { name } } });
