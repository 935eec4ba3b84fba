import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { type Client, startSecrets } from './start-secrets';
import { authOf, everyVisit, mountEveryKind, type Visit } from './visits';

/** Values are always encrypted, and caches coherent; clients send the other options with values that have no effect. */
const withoutEffect = [
  'auth-enable-method: seal_wrap',
  'auth-tune-configuration-parameters: force_no_cache',
  'configure-auto-tidy: tidy_invalid_certs',
  'configure-auto-tidy: tidy_move_legacy_ca_bundle',
  'initialize: stored_shares',
  'internal-generate-open-api-document-with-parameters: context',
  'internal-generate-open-api-document-with-parameters: list',
  'internal-generate-open-api-document: context',
  'internal-generate-open-api-document: list',
  'mounts-enable-secrets-engine: seal_wrap',
  'mounts-tune-configuration-parameters: force_no_cache',
  'plugins-catalog-remove-plugin-with-type: version',
  'token-renew-self: token',
];

describe('every declared path', () => {
  const secrets = startSecrets();
  let visits: Visit[] = [];

  beforeAll(async () => {
    await mountEveryKind(secrets);
    visits = everyVisit(secrets);
  });

  const ask = ({ verb, at }: Visit, client: Client, body?: object) => {
    if (verb === 'write') return client.write(at, body ?? {});
    if (verb === 'patch') return client.patch(at, body ?? {});
    return client[verb](at);
  };
  const failing = async (which: (visit: Visit) => boolean, test: (visit: Visit) => Promise<string | undefined>) => {
    const failures: string[] = [];
    for (const visit of visits.filter(which)) {
      const failure = await test(visit);
      if (failure) failures.push(`${visit.name}: ${failure}`);
    }
    return failures;
  };
  const said = (answer: { status: number; text: string }) => `${answer.status} ${answer.text.slice(0, 200)}`;

  it('is tested here', () => {
    expect(visits.length).toBeGreaterThan(150);
  });

  it('gives its operations names that no other operation of the mount has', () => {
    const mountOf = (name: string) => /^\S+ ((?:auth\/)?[^/]+)/.exec(name)![1]!;
    const named = visits.flatMap(({ name, operation: { operationId } }) =>
      operationId ? `${mountOf(name)} ${operationId}` : [],
    );
    expect(named.filter((id, i) => named.indexOf(id) !== i)).toEqual([]);
  });

  it('accepts no field without effect, except fields that can have no effect here', () => {
    const without = new Set<string>();
    for (const { operation } of visits) {
      for (const [field, type] of Object.entries(operation.input?.shape ?? {})) {
        if (/no effect/i.test(type.description ?? '')) without.add(`${operation.operationId}: ${field}`);
      }
    }
    expect([...without].sort()).toEqual(withoutEffect);
  });

  it('is refused without a token, unless declared otherwise (SA.1, SV.1)', async () => {
    const failures = await failing(
      (visit) => authOf(visit) === 'token',
      async (visit) => {
        const answer = await ask(visit, secrets.anonymous);
        return answer.status === 403 && answer.body.errors[0] === 'permission denied' ? undefined : said(answer);
      },
    );
    expect(failures).toEqual([]);
  });

  it('is under /v1/ and nowhere else (SV.1, SP.6, SP.53)', async () => {
    const prefixes = ['/v1/', '/v2/', '/'];
    const found = await Promise.all(
      prefixes.map(async (prefix) => {
        const answer = await request(secrets.server)
          .get(`${prefix}auth/token/lookup-self`)
          .set('X-Service-Token', secrets.rootToken);
        return [answer.status, answer.status === 200 || answer.body];
      }),
    );
    expect(found).toEqual([
      [200, true],
      [404, { errors: [] }],
      [404, { errors: [] }],
    ]);
  });

  it('is refused without the capability', async () => {
    const weak = await secrets.withPolicy('path "nowhere" { capabilities = ["read"] }');
    const failures = await failing(
      (visit) => authOf(visit) === 'token',
      async (visit) => {
        const answer = await ask(visit, weak);
        const right = answer.status === 403 && answer.body.errors[0] === '1 error occurred:\n\t* permission denied\n\n';
        return right ? undefined : said(answer);
      },
    );
    expect(failures).toEqual([]);
  });

  it('is refused with the capability but without sudo, if it needs sudo', async () => {
    const all = '["create", "read", "update", "delete", "list", "patch"]';
    const almost = await secrets.withPolicy(`path "*" { capabilities = ${all} }`);
    const failures = await failing(
      (visit) => authOf(visit) === 'token' && (visit.operation.sudo ?? visit.declared.sudo),
      async (visit) => {
        const answer = await ask(visit, almost);
        return answer.status === 403 ? undefined : said(answer);
      },
    );
    expect(failures).toEqual([]);
  });

  it('answers fields of the wrong type with 4xx and a message', async () => {
    const failures = await failing(
      ({ operation, verb }) =>
        (verb === 'write' || verb === 'patch') &&
        !operation.wholeBody &&
        Object.keys(operation.input?.shape ?? {}).length > 0,
      async (visit) => {
        const fields = Object.keys(visit.operation.input!.shape);
        const body = Object.fromEntries(fields.map((name) => [name, [['wrong', true]]]));
        const answer = await ask(visit, secrets.root, body);
        const refused = answer.status >= 400 && answer.status < 500 && (answer.body.errors ?? []).length > 0;
        return refused ? undefined : said(answer);
      },
    );
    expect(failures).toEqual([]);
    await secrets.root.read('auth/token/lookup-self').expect(200);
  });

  it('answers while sealed only if it is one of the paths that must', async () => {
    await secrets.root.write('sys/seal').expect(204);
    const failures = await failing(
      ({ declared }) => !declared.whileSealed,
      async (visit) => {
        const answer = await ask(visit, secrets.root);
        return answer.status === 503 && answer.body.errors[0] === 'Service is sealed' ? undefined : said(answer);
      },
    );
    expect(failures).toEqual([]);
  });
});
