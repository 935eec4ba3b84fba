import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ExactNumber } from '@keystead/envelope';
import { judgeParameters } from '../src/kernel/policy/parameters';
import { PatternRule } from '../src/kernel/policy/rule';
import type { PolicyValue } from '../src/kernel/policy/types';
import { Failure } from '../src/sdk/coerce';
import { fieldMeta } from '../src/sdk/parameter-reading';
import type { AnyOperation } from '../src/sdk/path';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

/** Several ways to write one value, and one to write another. */
interface Spellings {
  readonly same: readonly unknown[];
  readonly other: unknown;
  /** Lists that hold the value among others. */
  readonly among?: readonly unknown[];
}

const id = '0b3f9f1c-0d4e-4f6a-8a51-0123456789ab';

/** Values of fields that are objects, by one of their members. */
const inObjects: readonly Spellings[] = [
  {
    same: [{ default_lease_ttl: 60 }, { default_lease_ttl: '1m' }, [{ default_lease_ttl: '60' }]],
    other: { default_lease_ttl: 'system' },
    among: [{ default_lease_ttl: '0h1m', description: 'x' }],
  },
  { same: [{ lockout_duration: 60 }, { lockout_duration: '1m' }], other: { lockout_duration: 61 } },
  { same: [{ cas: 6 }, { cas: '6' }, { cas: '06' }], other: { cas: 7 } },
];

/** How clients write values of a kind of field; undefined if the operation reads raw JSON. */
function spellingsOf(
  json: Readonly<Record<string, unknown>>,
  type: ReturnType<typeof fieldMeta>,
): Spellings | undefined {
  const { read } = type;
  if (type.several && json.type !== 'object' && !(read('{"k":"v"}') instanceof Failure || Array.isArray(read('v'))))
    return { same: ['{"k":"v"}', '{ "k": "v" }', { k: 'v' }], other: { k: 'w' }, among: [{ k: 'v', j: 'x' }] };
  if (json.enum) {
    const [one, other] = (json.enum as string[]).filter((text) => text !== '');
    return { same: [one], other };
  }
  switch (json.type) {
    case 'string':
      if (json.format === 'duration')
        return { same: [60, '60', '1m', '60s', '0h1m', new ExactNumber('60.0')], other: '61s' };
      if (read(id.toUpperCase()) === id) return { same: [id, id.toUpperCase()], other: 'x' };
      // A lifetime that is stored as sent.
      if (read('7') === '7' && read('8m') === '8m' && typeof read('x') !== 'string')
        return { same: ['7', 7], other: '8' };
      if (read('60m') === 3600) return { same: ['60m', '1h', 3600, '3600'], other: '61m' };
      if (read('djE=') === 'v1') return { same: ['djE=', 'djE', 'd jE'], other: 'djI=' };
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
      if (JSON.stringify(read({ k: 5 }) ?? {}) === '{"k":5}')
        return {
          same: [{ k: 5 }, [{ k: new ExactNumber('5.0') }], { k: '5' }, { k: [new ExactNumber('50e-1')] }],
          other: { k: { x: 5 } },
          among: [{ k: 5, j: 'x' }, { k: ['x', '5'] }],
        };
      if (!json.additionalProperties)
        return inObjects.find(({ same }) => JSON.stringify(read(same[0]) ?? {}).includes('6'));
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
  const documents: { at: string; operation: AnyOperation; name: string }[] = [];
  const unmarked: string[] = [];

  beforeAll(async () => {
    await mountEveryKind(secrets);
    for (const { name: at, operation, verb } of everyVisit(secrets)) {
      if (verb === 'list' || verb === 'scan' || verb === 'delete') continue;
      for (const [name, type] of Object.entries(operation.input?.shape ?? {})) {
        const meta = fieldMeta(type);
        if (meta.document) {
          documents.push({ at, operation, name });
          continue;
        }
        const saysSo = /(as|in) JSON|in HCL|Template for|Filter that finds/.test(type.description ?? '');
        const newer = operation.input!.shape[meta.olderNameOf ?? name];
        if ((saysSo && meta.json.type === 'string') || (newer && fieldMeta(newer).document)) {
          unmarked.push(`${at}: ${name}`);
        }
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

  it('are tested for every field with its own parsing', () => {
    expect(judged.length).toBeGreaterThan(900);
    // Fields that are stored as sent, matter only by their presence, or have no effect.
    expect(unread.map((one) => one.split(': ')[1]).sort()).toEqual([
      'data',
      'data',
      'list',
      'list',
      'perfstandbyok',
      'standbyok',
    ]);
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

  it('allow a value in every way to write it, under every name of its field, and not among others', () => {
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

  it('deny all values in JSON or another language if they deny one, and compare allowed ones character by character', () => {
    const passed = documents.filter(
      ({ operation, name }) =>
        !refuses(operation, 'denied', name, '{"a":1}', { [name]: '{ "a": 1 }' }) ||
        !refuses(operation, 'allowed', name, '{"a":1}', { [name]: '{ "a": 1 }' }) ||
        refuses(operation, 'allowed', name, '{"a":1}', { [name]: '{"a":1}' }) ||
        refuses(operation, 'denied', 'other', '{"a":1}', { [name]: '{"a":1}' }),
    );
    expect(passed.map(({ at, name }) => `${at}: ${name}`)).toEqual([]);
    expect(new Set(documents.map(({ name }) => name)).size).toBeGreaterThan(6);
    expect(unmarked).toEqual([]);
  });

  it('treat null as an empty list or map', () => {
    const metaOf = ({ operation, name }: (typeof judged)[number]) => fieldMeta(operation.input!.shape[name]!);
    const several = judged.filter((one) => metaOf(one).several && metaOf(one).empty !== undefined);
    // Only a batch has no empty value that null could mean.
    const others = judged.filter((one) => metaOf(one).several && metaOf(one).empty === undefined);
    expect(new Set(others.map(({ name }) => name))).toEqual(new Set(['batch_input']));
    for (const one of several) {
      const { operation, name, spellings } = one;
      expect(refuses(operation, 'denied', name, metaOf(one).empty, { [name]: null })).toBe(true);
      expect(refuses(operation, 'denied', name, spellings.other, { [name]: null })).toBe(false);
      expect(refuses(operation, 'allowed', name, spellings.other, { [name]: null })).toBe(true);
    }
    expect(several.length).toBeGreaterThan(100);
  });

  it('see everything that an operation reads of a field', async () => {
    const { root, service } = secrets;
    const mount = [...service.kernel.mounts.all()].find(({ path }) => path === 'auth/approle/')!;
    const declared = mount.backend.paths.find(({ pattern }) => pattern === 'role/:role_name')!;
    const run = jest.spyOn(declared.operations.write!, 'run');
    await root.write('auth/approle/role/seen', { token_ttl: '1h', policies: ['a'], token_type: null }).expect(204);
    const [{ input, fields }] = run.mock.calls[0]!;
    expect(fields).toEqual({ token_ttl: true, policies: true, token_type: null });
    expect(input).toMatchObject({ token_ttl: 3600, policies: ['a'] });
    run.mockRestore();
  });

  it.each<[string, string, boolean[]]>([
    // kv, kv with version 1, kv-v1, generic, and in version 2: kv with the option, as a pair, as a number, kv-v2.
    ['denied_parameters = { type = ["kv-v2"] }', '', [true, true, true, true, false, false, false, false]],
    ['denied_parameters = { plugin_name = ["kv-v2"] }', '', [true, true, true, true, false, false, false, false]],
    ['denied_parameters = { options = ["version=2"] }', '', [true, true, true, true, false, false, false, false]],
    ['denied_parameters = { type = ["generic"] }', '', [false, false, false, false, true, true, true, true]],
    ['denied_parameters = { options = ["version=1"] }', '', [false, false, false, false, true, true, true, false]],
    ['denied_parameters = { type = ["kv"] }', '', [false, false, false, false, false, false, false, false]],
    ['allowed_parameters = { type = ["kv-v2"] }', '', [false, false, false, false, true, true, true, true]],
    ['allowed_parameters = { type = ["generic"] }', '', [true, true, true, true, false, false, false, false]],
    ['allowed_parameters = { type = ["kv"] }', '', [true, true, true, true, false, false, false, false]],
    ['allowed_parameters = { type = ["kv"], options = [] }', '', [true, true, true, true, true, true, true, true]],
    [
      'allowed_parameters = { type = [], options = ["version=2"] }',
      'required_parameters = ["options"]',
      [false, false, false, false, true, true, true, true],
    ],
  ])('treat all ways to mount a version of kv as one: %s %s', async (lists, required, passes) => {
    const limited = await secrets.withPolicy(
      `path "sys/mounts/judged/*" { capabilities = ["create", "update"]\n ${lists}\n ${required} }`,
    );
    const ways = [
      { type: 'kv' },
      { plugin_name: 'kv', options: { version: '1' } },
      { type: 'kv-v1' },
      { type: '', plugin_name: 'generic' },
      { type: 'kv', options: { version: '2' } },
      { type: 'kv', options: ['version=2'] },
      { type: 'kv', options: [{ version: 2 }] },
      { type: 'kv-v2', options: { version: '1' } },
    ];
    const found = [];
    for (const way of ways) {
      const { status } = await limited.write('sys/mounts/judged/kv', way);
      if (status === 204) await secrets.root.delete('sys/mounts/judged/kv').expect(204);
      found.push(status === 204);
    }
    expect(found).toEqual(passes);
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
    [
      'sys/mounts/judged',
      '"config" = [{ "default_lease_ttl" = "1h" }]',
      'config',
      ['{"default_lease_ttl":3600}', '{"default_lease_ttl":"60m","description":"x"}', '[{"default_lease_ttl":"3600"}]'],
    ],
    ['sys/mounts/judged/tune', '"max_lease_ttl" = [0]', 'max_lease_ttl', ['"system"', '-1', '""', '"0s"']],
    ['auth/token/create', '"period" = ["1h"]', 'period', ['3600', '"3600"', '"60m"', '3.6e3']],
    ['kv2/data/a', '"options" = [{ "cas" = 0 }]', 'options', ['{"cas":"0"}', '{"cas":0,"more":1}', '[{"cas":"00"}]']],
    ['sys/mounts/judged', '"type" = ["kv"]', 'type', ['"kv"', '"kv-v1"', '"kv-v2"', '"generic"']],
    ['sys/mounts/judged', '"type" = ["kv"]', 'plugin_name', ['"kv-v2"']],
  ])('deny at %s a value that %s means', async (at, denied, field, spellings) => {
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
  ])('check the value that the endpoint reads: %s', async (rule, _, body, status) => {
    const limited = await secrets.withPolicy(
      `path "auth/approle/role/*" { capabilities = ["create", "update"]\n ${rule} }`,
    );
    await limited.write('auth/approle/role/judged', body as object | string).expect(status);
  });
});
