import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { fieldMeta } from '../src/sdk/parameter-reading';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

describe('what is sent to any operation', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'secrets-in-logs-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const logged: string[] = [];
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file }, log: (line) => logged.push(line) });
  beforeAll(() => mountEveryKind(secrets));

  it('is in no log at its most detailed level, and a secret in no audit line either, in any form it is sent in', async () => {
    const mark = () => `s.${randomBytes(18).toString('base64url')}`;
    const [secret, other] = [mark(), mark()];
    // What would end the service, or its keys, for the requests that follow.
    const ending = /^(sys\/)?(seal|step-down|init|rotate|raw)/;
    let sent = 0;
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
      // By themselves as well: with all fields, the first that is wrong is refused.
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
        await secrets.root[verb](at, body);
        sent += 1;
      }
    }
    await secrets.as(secret).read('auth/token/lookup-self').expect(403);
    await secrets.root.read(`one/${other}?token=${secret}`).expect(404);
    expect(sent).toBeGreaterThan(400);
    expect(logged).not.toEqual([]);
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
