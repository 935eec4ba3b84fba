import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Program, startProgram } from '../../prisma/released/programs';
import { createInstallation, type TestInstallation } from './installation';
import { waitFor } from './start';

// No write that the killed node had acknowledged may be lost, and other nodes must find everything that exists.

const rounds = 30;
const writers = 3;
const version = { root: path.resolve(__dirname, '../..'), built: true };
type Name = 'secrets' | 'workspaces';
const names: readonly Name[] = ['secrets', 'workspaces'];

// A few minutes: each kill waits for a new process.
(process.env.KEYSTEAD_LONG ? describe : describe.skip)(
  'three nodes of each service, the third of which is killed over and over',
  () => {
    let installation: TestInstallation;
    const nodes: Record<Name, (Program | undefined)[]> = { secrets: [], workspaces: [] };
    beforeAll(async () => {
      installation = await createInstallation({ WORKSPACES_RATE_LIMIT: '0', KEYSTEAD_WORKER: 'off' });
      await installation.start();
      for (const name of names) nodes[name] = [await another(name), await another(name)];
    });
    afterAll(async () => {
      for (const name of names) for (const node of nodes[name]) await node?.kill('SIGKILL');
      await installation.remove();
    });

    /** One more node in addition to the one that npm start runs. */
    async function another(name: Name): Promise<Program> {
      const prefix = name.toUpperCase();
      return startProgram(version, name, {
        [`${prefix}_DATABASE_URL`]: await installation.databaseUrl(name),
        [`${prefix}_SEAL_KEY_FILE`]: path.join(installation.dataDir, `${name}.key`),
        [`${prefix}_LOG_LEVEL`]: 'silent',
        ...(name === 'workspaces'
          ? { WORKSPACES_PUBLIC_URL: installation.workspacesUrl, WORKSPACES_RATE_LIMIT: '0' }
          : {}),
      });
    }

    it('lose no acknowledged write and find every existing object', async () => {
      const { secrets, workspaces } = installation.firstRun();
      const own: Record<Name, string> = { secrets: secrets.address, workspaces: workspaces.address };
      const addresses = (name: Name) => [own[name], ...nodes[name].flatMap((node) => node?.address ?? [])];
      const any = (name: Name, but?: string): string => {
        const others = addresses(name).filter((address) => address !== but);
        return others[Math.floor(Math.random() * others.length)]!;
      };
      const headers: Record<Name, Record<string, string>> = {
        secrets: { 'X-Service-Token': secrets.root_token },
        workspaces: { Authorization: `Bearer ${workspaces.token}`, 'Content-Type': 'application/vnd.api+json' },
      };
      const send = async (name: Name, at: string, given: string, body?: object, token?: string) => {
        try {
          const answer = await fetch(`${at}${given}`, {
            method: body === undefined ? 'GET' : 'POST',
            headers: token === undefined ? headers[name] : { 'X-Service-Token': token },
            body: body && JSON.stringify(body),
            signal: AbortSignal.timeout(30_000),
          });
          const text = await answer.text();
          return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
        } catch {
          return undefined;
        }
      };
      expect((await send('secrets', own.secrets, '/v1/sys/mounts/kept', { type: 'kv' }))?.status).toBe(204);
      const data = { type: 'organizations', attributes: { name: 'kept', email: 'kept@example.com' } };
      expect((await send('workspaces', own.workspaces, '/api/v2/organizations', { data }))?.status).toBe(201);
      await sleep(1000);

      const promised: { name: Name; path: string; token?: string }[] = [];
      const wrong: string[] = [];
      const tally = { unanswered: 0, faults: 0, asked: 0 };
      let running = true;
      let number = 0;
      const judge = (what: string, answer: Awaited<ReturnType<typeof send>>) => {
        tally.asked++;
        if (answer === undefined) tally.unanswered++;
        else if (answer.status >= 500) tally.faults++;
        else if (answer.status >= 400) wrong.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
        return answer !== undefined && answer.status < 300;
      };
      /** Writes on one node; another one must immediately see acknowledged writes. */
      const write = async (
        name: Name,
        at: string,
        body: object,
        there: (made: never) => { path: string; token?: string },
      ) => {
        const node = any(name);
        const answer = await send(name, node, at, body);
        if (!judge(`write ${at}`, answer)) return;
        const one = { name, ...there(answer!.body as never) };
        promised.push(one);
        judge(`read ${one.path} elsewhere`, await send(name, any(name, node), one.path, undefined, one.token));
      };
      const writer = async () => {
        while (running) {
          const n = `n-${++number}`;
          await write('secrets', `/v1/kept/${n}`, { n }, () => ({ path: `/v1/kept/${n}` }));
          await write('secrets', '/v1/auth/token/create', { policies: ['default'] }, (made) => ({
            path: '/v1/auth/token/lookup-self',
            token: (made as { auth: { client_token: string } }).auth.client_token,
          }));
          const workspace = { data: { type: 'workspaces', attributes: { name: n } } };
          const under = '/api/v2/organizations/kept/workspaces';
          await write('workspaces', under, workspace, () => ({ path: `${under}/${n}` }));
        }
      };
      const writing = Array.from({ length: writers }, writer);
      const killed = { secrets: 0, workspaces: 0 };
      for (let round = 0; round < rounds; round++) {
        const before = promised.length;
        await waitFor(() => promised.length > before);
        await sleep(Math.random() * 300);
        await Promise.all(
          names.map(async (name) => {
            const third = nodes[name].pop();
            await third!.kill('SIGKILL');
            killed[name]++;
            nodes[name].push(await another(name));
          }),
        );
      }
      running = false;
      await Promise.all(writing);

      const lost: string[] = [];
      const waiting = [...promised];
      const look = async () => {
        for (let one = waiting.pop(); one; one = waiting.pop()) {
          const answer = await send(one.name, any(one.name), one.path, undefined, one.token);
          if (answer?.status !== 200) lost.push(`${one.path}: ${answer?.status}`);
        }
      };
      await Promise.all(Array.from({ length: 8 }, look));
      const table = { killed, acknowledged: promised.length, lost: lost.length, ...tally, wrong: wrong.length };
      process.stderr.write(`${JSON.stringify(table)}\n`);
      expect({ lost, wrong, faults: tally.faults }).toEqual({ lost: [], wrong: [], faults: 0 });
      expect(promised.length).toBeGreaterThan(rounds);
    });
  },
);
