import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, serve } from '@keystead/server';
import type { z } from 'zod';
import { fieldMeta } from '../src/sdk/parameter-reading';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

describe('values sent to any operation', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'secrets-in-logs-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const logged: string[] = [];
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file }, log: (line) => logged.push(line) });
  beforeAll(() => mountEveryKind(secrets));

  it('are in no log at its most detailed level, and secrets in no audit line either, in any form', async () => {
    const mark = () => `s.${randomBytes(18).toString('base64url')}`;
    const [secret, other] = [mark(), mark()];
    // Operations that would stop or seal the service for the following requests.
    const ending = /^(sys\/)?(seal|step-down|init|rotate|raw)/;
    let sent = 0;
    // With the request log, which only a server writes.
    const log = createLogger({
      name: 'secrets',
      level: 'trace',
      destination: { write: (line) => void logged.push(line) },
    });
    const ready = async () => ({ ready: true, reasons: [] });
    const serving = await serve({ app: secrets.service.app, listen: { host: '127.0.0.1', port: 0 }, log, ready });
    const send = async (method: string, at: string, token: string, body?: object) => {
      const type = `application/${method === 'PATCH' ? 'merge-patch+' : ''}json`;
      const headers = { 'x-service-token': token, 'content-type': type };
      const answer = await fetch(`${serving.url}/v1/${at}`, { method, headers, body: body && JSON.stringify(body) });
      await answer.arrayBuffer();
      return answer.status;
    };
    const methods = { write: 'POST', patch: 'PATCH' } as const;
    for (const { at, verb, operation } of everyVisit(secrets)) {
      if (ending.test(at) || (verb !== 'write' && verb !== 'patch')) continue;
      const shape = Object.entries(operation.input?.shape ?? {});
      const bodies = [
        (text: string): unknown => text,
        (text: string) => [text],
        (text: string) => ({ [text]: text }),
      ].map((form) =>
        Object.fromEntries(
          shape.map(([name, type]) => {
            const { json } = fieldMeta(type as z.ZodType);
            return [name, form(json.format === 'password' ? secret : other)];
          }),
        ),
      );
      const hidden = shape.filter(([, type]) => fieldMeta(type as z.ZodType).json.format === 'password');
      // Each field is also sent without other fields, because only the first wrong one of all is refused.
      const single = hidden.flatMap(([name]) => [
        { [name]: secret },
        { [name]: [secret] },
        { [name]: { [secret]: secret } },
      ]);
      for (const body of [
        ...(shape.length > 0 ? bodies : []),
        ...single,
        ...(operation.freeform ? [{ [secret]: secret }] : []),
      ]) {
        await send(methods[verb], at, secrets.rootToken, body);
        sent += 1;
      }
    }
    expect(await send('GET', 'auth/token/lookup-self', secret)).toBe(403);
    expect(await send('GET', `one/${other}?token=${secret}`, secrets.rootToken)).toBe(404);
    await serving.close();
    expect(sent).toBeGreaterThan(400);
    const said = logged.map((line) => JSON.parse(line).msg as string);
    expect(said.filter((one) => one === 'request')).toHaveLength(sent + 2);
    // Refusals include errors of unreachable systems, with their cause.
    expect(said.filter((one) => one === 'refused').length).toBeGreaterThan(0);
    const holding = (lines: readonly string[], text: string) => lines.filter((line) => line.includes(text)).slice(0, 5);
    expect(holding(logged, secret)).toEqual([]);
    expect(holding(logged, secrets.root.token!)).toEqual([]);
    expect(holding(logged, other)).toEqual([]);
    const audited = readFileSync(file, 'utf8').split('\n');
    expect(audited.length).toBeGreaterThan(sent);
    expect(holding(audited, secret)).toEqual([]);
    expect(holding(audited, secrets.root.token!)).toEqual([]);
  }, 240_000);
});
