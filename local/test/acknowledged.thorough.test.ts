import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { SchedulerStandIn } from '../../apps/secrets/test/stand-ins/scheduler';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover, type Victim, victims } from './kills';
import { waitFor } from './start';

// Normally a short form; --long kills fifty times.
const rounds = process.env.KEYSTEAD_LONG ? 50 : victims.length;
const WRITERS = 4;
const BETWEEN_MS = 300;

type Kind = 'secret' | 'token' | 'lease' | 'workspace';

/** A promise: a request, and its required answer. */
interface Promised {
  kind: Kind;
  address: string;
  body?: object;
  expected: object;
}

describe('an acknowledged write', () => {
  const upstream = new SchedulerStandIn();
  let installation: TestInstallation;
  beforeAll(async () => {
    await upstream.start();
    installation = await createInstallation({ WORKSPACES_RATE_LIMIT: '0' });
    await installation.start();
  });
  afterAll(async () => {
    await installation.remove();
    await upstream.stop();
  });

  it('survives kill -9 of every process under load, and each lease still matches its credential', async () => {
    const { secrets, workspaces } = installation.firstRun();
    const secretsHeaders = { 'X-Service-Token': secrets.root_token };
    const workspacesHeaders = {
      Authorization: `Bearer ${workspaces.token}`,
      'Content-Type': 'application/vnd.api+json',
    };
    const v1 = `${secrets.address}/v1`;
    const api = `${workspaces.address}/api/v2/organizations`;
    const access = { address: upstream.address, token: upstream.management };
    expect(await send(`${v1}/sys/mounts/kept`, secretsHeaders, { type: 'kv' })).toMatchObject({ status: 204 });
    expect(await send(`${v1}/sys/mounts/fleet`, secretsHeaders, { type: 'scheduler' })).toMatchObject({ status: 204 });
    expect(await send(`${v1}/fleet/config/access`, secretsHeaders, access)).toMatchObject({ status: 204 });
    expect(await send(`${v1}/fleet/role/ops`, secretsHeaders, { policies: 'read' })).toMatchObject({ status: 204 });
    expect(await send(api, workspacesHeaders, organization('kept'))).toMatchObject({ status: 201 });

    const promised: Promised[] = [];
    /** The credentials of acknowledged leases in the other system. */
    const credentials: string[] = [];
    const refused: number[] = [];
    let running = true;
    let number = 0;
    async function write(): Promise<void> {
      while (running) {
        number += 1;
        const name = `n-${number}`;
        const answers = [
          await send(`${v1}/kept/${name}`, secretsHeaders, { number: name }),
          await send(`${v1}/auth/token/create`, secretsHeaders, { policies: ['default'], meta: { name } }),
          await send(`${v1}/fleet/creds/ops`, secretsHeaders),
          await send(`${api}/kept/workspaces`, workspacesHeaders, workspace(name)),
        ] as const;
        const [secret, token, lease, created] = answers;
        if (secret?.status === 204) {
          promised.push({ kind: 'secret', address: `${v1}/kept/${name}`, expected: { data: { number: name } } });
        }
        if (token?.status === 200) {
          const { accessor } = token.body.auth;
          const address = `${v1}/auth/token/lookup-accessor`;
          promised.push({ kind: 'token', address, body: { accessor }, expected: { data: { meta: { name } } } });
        }
        if (lease?.status === 200) {
          const { lease_id } = lease.body;
          credentials.push(lease.body.data.accessor_id);
          promised.push({
            kind: 'lease',
            address: `${v1}/sys/leases/lookup`,
            body: { lease_id },
            expected: { data: { id: lease_id } },
          });
        }
        if (created?.status === 201) {
          const expected = { data: { attributes: { name } } };
          promised.push({ kind: 'workspace', address: `${api}/kept/workspaces/${name}`, expected });
        }
        for (const one of answers) if (one && one.status >= 400 && one.status < 500) refused.push(one.status);
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
    const lostOf = new Map<Kind, number>();
    for (const { kind, address, body, expected } of promised) {
      const headers = kind === 'workspace' ? workspacesHeaders : secretsHeaders;
      const answer = await insist(address, headers, body);
      try {
        expect(answer?.body).toMatchObject(expected);
      } catch {
        lost.push(`${kind} ${address} ${JSON.stringify(body)}: ${answer?.status}`);
        lostOf.set(kind, (lostOf.get(kind) ?? 0) + 1);
      }
    }
    // Unrecorded credentials are revoked: then there are as many credentials as leases.
    const leases = () => countOf(installation, 'lease');
    await waitFor(async () => upstream.issued.length === (await leases()));
    const living = new Set(upstream.issued.map(({ AccessorID }) => AccessorID));
    const gone = credentials.filter((accessor) => !living.has(accessor));
    process.stderr.write(
      report({ killed, promised, lostOf, gone: gone.length, issued: living.size, leases: await leases() }),
    );
    expect(lost).toEqual([]);
    expect(gone).toEqual([]);
    expect(refused).toEqual([]);
    expect(promised.length).toBeGreaterThan(rounds);
    // Everything that exists in the other system can be revoked.
    expect(await insist(`${v1}/sys/leases/revoke-prefix/fleet`, secretsHeaders, {})).toMatchObject({ status: 204 });
    await waitFor(async () => upstream.issued.length === 0 && (await leases()) === 0);
  });
});

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
  body: any;
}

/**
 * Sends a request, with POST if there is a body; undefined if there was no answer, for example while a process is being
 * restarted.
 */
async function send(address: string, headers: Record<string, string>, body?: object): Promise<Answer | undefined> {
  try {
    const response = await fetch(address, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return undefined;
  }
}

/** Repeats a request until the answer is not a fault; for requests that may be repeated. */
async function insist(address: string, headers: Record<string, string>, body?: object): Promise<Answer | undefined> {
  let answer: Answer | undefined;
  await waitFor(async () => {
    answer = await send(address, headers, body);
    return answer !== undefined && answer.status < 500;
  });
  return answer;
}

async function countOf(installation: TestInstallation, table: string): Promise<number> {
  return withClient(await installation.databaseUrl('secrets'), async (client) => {
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
    return rows[0]!.count;
  });
}

/** The events, as two tables. */
function report(seen: {
  killed: ReadonlyMap<Victim, number>;
  promised: readonly Promised[];
  lostOf: ReadonlyMap<Kind, number>;
  gone: number;
  issued: number;
  leases: number;
}): string {
  const kinds: Kind[] = ['secret', 'token', 'lease', 'workspace'];
  const lines = [
    '| killed with -9 | times |',
    '|---|---|',
    ...[...seen.killed].map(([victim, times]) => `| ${victim} | ${times} |`),
    '',
    '| | acknowledged | lost |',
    '|---|---|---|',
    ...kinds.map((kind) => {
      const acknowledged = seen.promised.filter((one) => one.kind === kind).length;
      return `| ${kind} | ${acknowledged} | ${seen.lostOf.get(kind) ?? 0} |`;
    }),
    `| credential outside, of an acknowledged lease | | ${seen.gone} |`,
    '',
    `${seen.issued} credentials outside, ${seen.leases} leases`,
  ];
  return `${lines.join('\n')}\n`;
}

const organization = (name: string) => ({
  data: { type: 'organizations', attributes: { name, email: `${name}@example.com` } },
});
const workspace = (name: string) => ({ data: { type: 'workspaces', attributes: { name } } });
