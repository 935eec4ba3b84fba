import { beforeAll, describe, expect, it } from '@jest/globals';
import type { LiveMount } from '../src/kernel/mounts/mount';
import type { Verb } from '../src/sdk/call';
import type { AnyOperation, Path } from '../src/sdk/path';
import { type Client, startSecrets } from './start-secrets';

interface Visit {
  readonly name: string;
  readonly at: string;
  readonly verb: Verb;
  readonly declared: Path;
  readonly operation: AnyOperation;
}

const uuid = '7b3f4044-0000-4000-8000-000000000000';

/** A concrete path of a pattern, made of names that fit it. */
function concrete(mount: LiveMount, declared: Path): string {
  const below = declared.pattern.replace(/:(\w+)\*?/g, (_all, name: string) => {
    const rule = declared.params[name];
    if (rule === 'uuid') return uuid;
    if (!(rule instanceof RegExp)) return 'visited';
    const words = rule.source.match(/[\w-]+/g) ?? [];
    const fit = ['visited', '1', uuid, ...words].find((text) => rule.test(text));
    if (!fit) throw new Error(`no example fits ${rule} of ${declared.pattern}`);
    return fit;
  });
  return mount.path + below;
}

// Every declared path and verb of every kind of mount, found the way the router finds them: a new backend is visited
// before its author writes a test.
describe('every declared path', () => {
  const secrets = startSecrets();
  let visits: Visit[] = [];

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/one', { type: 'kv' }).expect(204);
    await secrets.root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await secrets.root.write('sys/auth/approle', { type: 'approle' }).expect(204);
    await secrets.root.write('sys/auth/jwt', { type: 'jwt' }).expect(204);
    visits = [...secrets.service.kernel.mounts.all()].flatMap((mount) =>
      mount.backend.paths.flatMap((declared) =>
        (Object.entries(declared.operations) as [Verb, AnyOperation][]).map(([verb, operation]) => ({
          name: `${verb} ${mount.path}${declared.pattern}`,
          at: concrete(mount, declared),
          verb,
          declared,
          operation,
        })),
      ),
    );
  });

  const ask = ({ verb, at }: Visit, client: Client, body?: object) => {
    if (verb === 'write') return client.write(at, body ?? {});
    if (verb === 'patch') return client.patch(at, body ?? {});
    return client[verb](at);
  };
  const authOf = ({ declared, operation }: Visit) => operation.auth ?? declared.auth;
  const failing = async (which: (visit: Visit) => boolean, test: (visit: Visit) => Promise<string | undefined>) => {
    const failures: string[] = [];
    for (const visit of visits.filter(which)) {
      const failure = await test(visit);
      if (failure) failures.push(`${visit.name}: ${failure}`);
    }
    return failures;
  };
  const said = (answer: { status: number; text: string }) => `${answer.status} ${answer.text.slice(0, 200)}`;

  it('is visited', () => {
    expect(visits.length).toBeGreaterThan(150);
  });

  it('has a name of its own for every operation that names one', () => {
    const named = visits.flatMap(({ operation }) => operation.operationId ?? []);
    const perMount = new Set(['one', 'two']);
    expect(named.filter((id, i) => named.indexOf(id) !== i && !perMount.has(id))).toEqual([]);
  });

  it('is refused without a token, unless it says it needs none (SA.1, SV.1)', async () => {
    const failures = await failing(
      (visit) => authOf(visit) === 'token',
      async (visit) => {
        const answer = await ask(visit, secrets.nobody);
        return answer.status === 403 && answer.body.errors[0] === 'permission denied' ? undefined : said(answer);
      },
    );
    expect(failures).toEqual([]);
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

  it('is refused with the capability but without sudo, where it needs that', async () => {
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

  it('answers fields of the wrong kind with 4xx and a text', async () => {
    const failures = await failing(
      ({ operation, verb }) =>
        (verb === 'write' || verb === 'patch') && Object.keys(operation.input?.shape ?? {}).length > 0,
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

  it('answers while sealed only if it is one of those that must', async () => {
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
