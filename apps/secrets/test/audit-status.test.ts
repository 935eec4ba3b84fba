import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Refusal, type RefusalKind } from '@keystead/refusal';
import request from 'supertest';
import { statusOf } from '../src/pipeline/request';
import type { AnyOperation } from '../src/sdk/path';
import { startSecrets } from './start-secrets';

const kinds = Object.keys(statusOf) as RefusalKind[];

describe('the status in an audit line is that of the response', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'status-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file } });

  const answeredTo = (id: string) =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ request: { sent_id: sent } }) => sent === id);

  let counter = 0;
  /** Sends a request, and compares its audit lines with the answer. */
  async function asked(send: (id: string) => request.Test): Promise<number> {
    const id = `audited-${++counter}`;
    const { status } = await send(id).set('X-Request-Id', id);
    const lines = answeredTo(id);
    expect(lines.map(({ type }) => type)).toEqual(['request', 'response']);
    expect(lines[1].response.status).toBe(status);
    return status;
  }

  /** Replaces the handler of cubbyhole reads for one request. */
  async function instead(run: AnyOperation['run']): Promise<number> {
    await secrets.root.read('cubbyhole/x').expect(404);
    const { tree } = [...secrets.service.kernel.mounts.all()].find((mount) => mount.path === 'cubbyhole/')!;
    const operation = tree.match('x', 'read')!.path.operations.read! as { run: AnyOperation['run'] };
    const before = operation.run;
    operation.run = run;
    try {
      return await asked(() =>
        request(secrets.server).get('/v1/cubbyhole/x').set('X-Service-Token', secrets.rootToken),
      );
    } finally {
      operation.run = before;
    }
  }

  it.each(kinds)('for a handler that refuses with %s', async (kind) => {
    const status = await instead(() => {
      throw new Refusal(kind, 'because');
    });
    expect(status).toBe(statusOf[kind]);
  });

  it('for a fault', async () => {
    const status = await instead(() => {
      throw new Error('broken');
    });
    expect(status).toBe(500);
  });

  it('for a handler that takes too long', async () => {
    let end = (): void => {};
    const patience = secrets.service.kernel as { timeoutSeconds: number };
    patience.timeoutSeconds = 0.05;
    const status = await instead(
      () =>
        new Promise((resolve) => {
          end = () => resolve({ kind: 'missing' });
        }),
    );
    end();
    patience.timeoutSeconds = 90;
    expect(status).toBe(504);
  });

  const post = (at: string, type = 'application/json') =>
    request(secrets.server).post(`/v1/${at}`).set('X-Service-Token', secrets.rootToken).type(type);

  const merge = (type: string) =>
    request(secrets.server).patch('/v1/cubbyhole/a').set('X-Service-Token', secrets.rootToken).type(type).send('{}');

  it.each<[string, number, () => request.Test]>([
    ['no token', 403, () => secrets.anonymous.read('sys/mounts')],
    ['an unknown token', 403, () => secrets.as('s.anonymous').read('sys/mounts')],
    ['a path that does not exist', 404, () => secrets.root.read('nowhere/at/all')],
    ['a verb that a path does not have', 405, () => secrets.root.delete('sys/seal-status')],
    ['a missing entry', 404, () => secrets.root.read('cubbyhole/none')],
    ['a field of the wrong type', 400, () => secrets.root.write('auth/token/create', { num_uses: 'many' })],
    ['a body that is not JSON', 400, () => post('cubbyhole/a').send('{"a":')],
    ['a body that is too large', 413, () => post('sys/policies/acl/x').send(`{"policy":"${'x'.repeat(2 ** 21)}"}`)],
    ['too many values', 413, () => post('cubbyhole/a').send(`[${'1,'.repeat(50_000)}1]`)],
    ['a merge of the wrong type', 415, () => merge('json')],
    ['a bad lifetime of a wrapping', 400, () => secrets.root.read('cubbyhole/a').set('X-Service-Wrap-TTL', 'soon')],
    ['a missing namespace', 404, () => secrets.root.read('sys/mounts').set('X-Service-Namespace', 'gone')],
  ])('for %s', async (_what, expected, send) => {
    expect(await asked(send)).toBe(expected);
  });

  it('for an answer that was already sent', async () => {
    const document = () => secrets.root.read('sys/internal/specs/openapi');
    const { headers } = await document().expect(200);
    expect(await asked(() => document().set('If-None-Match', headers.etag!))).toBe(304);
  });
});
