import { beforeAll, describe, expect, it } from '@jest/globals';
import { ExactNumber } from '@keystead/envelope';
import { judgeParameters } from '../src/kernel/policy/parameters';
import { PatternRule } from '../src/kernel/policy/rule';
import type { PolicyValue } from '../src/kernel/policy/types';
import { fieldMeta } from '../src/sdk/parameter-reading';
import type { AnyOperation } from '../src/sdk/path';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

/** Several ways to write one value, and one to write another. */
interface Spellings {
  readonly same: readonly unknown[];
  readonly other: unknown;
  /** Lists that hold the value beside others. */
  readonly among?: readonly unknown[];
}

const id = '0b3f9f1c-0d4e-4f6a-8a51-0123456789ab';

/** How clients write values of a kind of field; undefined where the operation reads only JSON as it comes. */
function spellingsOf(
  json: Readonly<Record<string, unknown>>,
  type: ReturnType<typeof fieldMeta>,
): Spellings | undefined {
  const read = type.meaning ?? type.read;
  if (type.meaning && type.several && [read('generic')].flat().includes('kv-v1'))
    return { same: ['generic', 'kv-v1'], other: 'kv-v2' };
  if (type.meaning && type.several && !Array.isArray(read('v1')))
    return { same: ['{"k":"v"}', '{ "k": "v" }', { k: 'v' }], other: { k: 'w' } };
  if (type.meaning && Array.isArray(read('v1')))
    return { same: ['7', 7, ['7'], [7]], other: '8', among: ['7,8', [8, 7]] };
  if (type.meaning && json.type !== 'string') return { same: [60, '60', new ExactNumber('6e1')], other: 61 };
  if (json.enum) {
    const [one, other] = (json.enum as string[]).filter((text) => text !== '');
    return { same: [one], other };
  }
  switch (json.type) {
    case 'string':
      if (json.format === 'duration')
        return { same: [60, '60', '1m', '60s', '0h1m', new ExactNumber('60.0')], other: '61s' };
      if (read(id.toUpperCase()) === id) return { same: [id, id.toUpperCase()], other: 'x' };
      if (read('/v1/') === 'v1') return { same: ['v1', 'v1/', '/v1/'], other: 'x' };
      return { same: type.anyCase ? ['v1', 'V1'] : ['7', 7], other: 'x' };
    case 'integer':
      return { same: [300, '300', '+300', new ExactNumber('3e2')], other: 301 };
    case 'number':
      return { same: [1000, '1000', '1e3', '1000.0', new ExactNumber('1e3')], other: 1001 };
    case 'boolean':
      return { same: [true, 'true', 't', '1', 1], other: false };
    case 'array':
      if ((json.items as { type: string }).type === 'object')
        return { same: [{ k: 5 }, [{ k: 5 }]], other: [{ k: 6 }] };
      if ((json.items as { type: string }).type === 'integer')
        return {
          same: [3, '3', '03', '+3', [3], ['0x3'], [new ExactNumber('3.0')], [new ExactNumber('3e0')]],
          other: [4],
          among: ['4,3', [4, 3]],
        };
      return {
        same: ['v1', ['v1'], ['v1', 'v1'], [' v1 ']],
        other: ['x'],
        among: [
          ['x', 'v1'],
          ['v1', 'x'],
        ],
      };
    case 'object':
      if (!json.additionalProperties) return { same: [{ k: 5 }, [{ k: new ExactNumber('5.0') }]], other: { k: 6 } };
      return {
        same: [{ k: 'v' }, ['k=v'], 'k=v', [{ k: 'v' }]],
        other: { k: 'w' },
        among: [{ j: 'x', k: 'v' }, ['j=x', 'k=v']],
      };
    default:
      return undefined;
  }
}

const listedAs = (value: unknown): PolicyValue => {
  if (value instanceof ExactNumber || typeof value === 'number') return { number: String(value) };
  if (Array.isArray(value)) return value.map(listedAs);
  if (typeof value !== 'object' || value === null) return value as string | boolean;
  return { object: new Map(Object.entries(value).map(([key, item]) => [key, listedAs(item)])) };
};

const refuses = (operation: AnyOperation, kind: 'allowed' | 'denied', name: string, listed: unknown, sent: object) => {
  const rule = new PatternRule('a');
  const lists = new Map([[name, [listedAs(listed)]]]);
  rule.merge(
    {
      pattern: 'a',
      line: 1,
      capabilities: 0,
      requiredParameters: [],
      minWrappingSeconds: 0,
      maxWrappingSeconds: 0,
      mfaMethods: [],
      paginationLimit: 0,
      [`${kind}Parameters`]: lists,
    },
    { policy: 'p', namespacePath: '', pattern: 'a', line: 1 },
  );
  return judgeParameters(rule, { parameters: sent, reading: operation.reading } as never) !== undefined;
};

describe('rules about parameters', () => {
  const secrets = startSecrets();
  const judged: { at: string; operation: AnyOperation; name: string; spellings: Spellings }[] = [];
  const unread: string[] = [];

  beforeAll(async () => {
    await mountEveryKind(secrets);
    for (const { name: at, operation, verb } of everyVisit(secrets)) {
      if (operation.freeform || verb === 'list' || verb === 'scan' || verb === 'delete') continue;
      for (const [name, type] of Object.entries(operation.input?.shape ?? {})) {
        const meta = fieldMeta(type);
        const spellings = spellingsOf(meta.json, meta);
        if (spellings) judged.push({ at, operation, name, spellings });
        else unread.push(`${at}: ${name}`);
      }
    }
  });

  const failing = (test: (one: (typeof judged)[number], names: readonly string[]) => unknown[]) =>
    judged.flatMap((one) => {
      const wrong = test(one, one.operation.reading!.namesOf(one.name));
      return wrong.length > 0 ? [`${one.at}: ${one.name} ${JSON.stringify(wrong)}`] : [];
    });

  it('are tried for every field that an operation reads as more than JSON', () => {
    expect(judged.length).toBeGreaterThan(900);
    // What counts only by its presence, or has no effect.
    expect(unread.map((one) => one.split(': ')[1]).sort()).toEqual(['list', 'list', 'perfstandbyok', 'standbyok']);
  });

  it('deny a value in every way to write it, under every name of its field, and among others', () => {
    const wrong = failing(({ operation, name, spellings: { same, other, among = [] } }, names) =>
      names.flatMap((alias) =>
        same.flatMap((listed) => [
          ...[...same, ...among].filter((sent) => !refuses(operation, 'denied', name, listed, { [alias]: sent })),
          ...(refuses(operation, 'denied', name, listed, { [alias]: other }) ? [{ other }] : []),
        ]),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('allow a value in every way to write it, under every name of its field, and not beside others', () => {
    const wrong = failing(({ operation, name, spellings: { same, other, among = [] } }, names) =>
      names.flatMap((alias) =>
        same.flatMap((listed) => [
          ...same.filter((sent) => refuses(operation, 'allowed', name, listed, { [alias]: sent })),
          ...[other, ...among].filter((sent) => !refuses(operation, 'allowed', name, listed, { [alias]: sent })),
        ]),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('take null for what it says: nothing in a list or a map', () => {
    const several = judged.filter(({ operation, name }) => fieldMeta(operation.input!.shape[name]!).several);
    for (const { operation, name } of several.filter(
      ({ operation: { input }, name }) => !fieldMeta(input!.shape[name]!).meaning,
    )) {
      expect(refuses(operation, 'denied', name, [], { [name]: null })).toBe(true);
      expect(refuses(operation, 'denied', name, 'v1=1', { [name]: null })).toBe(false);
      expect(refuses(operation, 'allowed', name, 'v1=1', { [name]: null })).toBe(true);
      expect(refuses(operation, 'allowed', name, [], { [name]: [] })).toBe(false);
    }
    expect(several.length).toBeGreaterThan(100);
  });

  it('leave few fields to the operation to read by itself', () => {
    const own = judged.filter(({ operation, name }) => fieldMeta(operation.input!.shape[name]!).meaning);
    expect([...new Set(own.map(({ name }) => name))].sort()).toEqual([
      'default_lease_ttl',
      'explicit_max_ttl',
      'from',
      'iam_request_headers',
      'lease',
      'max_lease_ttl',
      'metadata',
      'path',
      'period',
      'plugin_name',
      'to',
      'ttl',
      'type',
    ]);
  });

  it.each<[string, string, string, readonly string[]]>([
    [
      'kv2/destroy/a',
      '"versions" = [3]',
      'versions',
      ['"3"', '["03"]', '["+3"]', '[3.0]', '["0x3"]', '[3e0]', '[" 3"]', '["3.0"]', '[[3]]', '[true, 3]', '{"0": 3}'],
    ],
    [
      'sys/quotas/rate-limit/judged',
      '"rate" = [1000]',
      'rate',
      ['"1e3"', '"1000.0"', '" 1000"', '[1000]', '"0b1111101000"', '1000.0', '1e3'],
    ],
    ['sys/quotas/rate-limit/judged', '"path" = ["judged/"]', 'path', ['"judged"', '"judged/"', '"/judged"']],
    ['sys/remount', '"to" = ["prod/"]', 'to', ['"prod"', '"/prod/"', '"prod/"']],
    ['sys/auth/judged', '"type" = ["userpass"]', 'plugin_name', ['"userpass"']],
    ['sys/mounts/judged', '"type" = ["kv"]', 'type', ['"kv"', '"kv-v1"', '"kv-v2"', '"generic"']],
    ['sys/mounts/judged', '"type" = ["kv"]', 'plugin_name', ['"kv-v2"']],
  ])('deny at %s what %s means', async (at, denied, field, spellings) => {
    const limited = await secrets.withPolicy(
      `path "${at}" { capabilities = ["create", "update", "sudo"]\n denied_parameters = { ${denied} } }`,
    );
    for (const spelling of spellings) {
      const { status } = await limited.write(at, `{"${field}":${spelling}}`);
      expect([spelling, status]).toEqual([spelling, 403]);
    }
  });

  it.each<[string, string, unknown, number]>([
    ['denied_parameters = { "token_policies" = ["admin"] }', 'role', { token_policies: ['a', 'admin'] }, 403],
    ['denied_parameters = { "token_policies" = ["admin"] }', 'role', { token_policies: 'a, Admin' }, 403],
    ['denied_parameters = { "token_policies" = ["admin"] }', 'role', { policies: ['admin'] }, 403],
    ['denied_parameters = { "token_policies" = ["adm*"] }', 'role', { token_policies: ['a', 'admin'] }, 403],
    ['denied_parameters = { "token_policies" = ["*"] }', 'role', { token_policies: ['a'] }, 403],
    ['denied_parameters = { "token_policies" = ["admin"] }', 'role', { token_policies: ['a'] }, 204],
    [
      'denied_parameters = { "token_num_uses" = [9007199254740993] }',
      'role',
      '{"token_num_uses":9007199254740993}',
      403,
    ],
    ['allowed_parameters = { "token_policies" = ["a", "b"] }', 'role', { token_policies: ['b', 'a'] }, 204],
    ['allowed_parameters = { "token_policies" = ["a", "b"] }', 'role', { token_policies: 'a,admin' }, 403],
    ['allowed_parameters = { "token_policies" = ["a*"] }', 'role', { token_policies: 'a,x' }, 403],
    ['allowed_parameters = { "token_policies" = [["a", "b"]] }', 'role', { token_policies: 'b,a' }, 204],
    ['allowed_parameters = { "token_policies" = [["a", "b"]] }', 'role', { token_policies: 'a' }, 403],
    ['allowed_parameters = { "token_policies" = ["a"], "*" = [] }', 'role', { policies: 'x' }, 403],
    ['allowed_parameters = { "token_bound_cidrs" = ["10.0.0.0/8"] }', 'role', { token_bound_cidrs: [] }, 403],
    ['allowed_parameters = { "token_ttl" = ["1h"] }', 'role', { token_ttl: 3600 }, 204],
    ['required_parameters = ["token_policies"]', 'role', { policies: 'a' }, 204],
    ['required_parameters = ["token_policies"]', 'role', { token_ttl: 1 }, 403],
  ])('judge what the endpoint reads: %s', async (rule, _, body, status) => {
    const limited = await secrets.withPolicy(
      `path "auth/approle/role/*" { capabilities = ["create", "update"]\n ${rule} }`,
    );
    await limited.write('auth/approle/role/judged', body as object | string).expect(status);
  });
});
