import { describe, expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { JsonScanner } from './json-scanner';
import { NoState, type ParsedState, storableText } from './parse-state';
import { listedCharacters, StateReader } from './state-reader';

fc.configureGlobal(propertySettings);

function read(bytes: Uint8Array, cuts: readonly number[] = []): ParsedState {
  const reader = new StateReader();
  let from = 0;
  for (const to of [...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)) {
    reader.write(bytes.subarray(from, to));
    from = to;
  }
  reader.write(bytes.subarray(from));
  return reader.end();
}
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

describe('reading a state', () => {
  it('reports resources by module and provider, and counts managed instances', () => {
    const aws = 'provider["registry.example/acme/aws"]';
    const parsed = read(
      bytes({
        version: 4,
        terraform_version: '1.11.4',
        serial: 7,
        lineage: 'l-1',
        outputs: {},
        resources: [
          { mode: 'managed', type: 'null_resource', name: 'a', provider: aws, instances: [{}, {}] },
          { mode: 'managed', module: 'module.m', type: 'null_resource', name: 'b', provider: aws, instances: [{}] },
          { mode: 'data', type: 'remote_state', name: 'c', provider: aws, instances: [{}] },
        ],
      }),
    );
    expect(parsed).toMatchObject({ format: 4, infraVersion: '1.11.4', serial: 7n, lineage: 'l-1', managedCount: 3 });
    expect(parsed.modules).toEqual({
      root: { 'null-resource': 2, 'data.remote-state': 1 },
      'module.m': { 'null-resource': 1 },
    });
    expect(parsed.providers).toEqual({ [aws]: { 'null-resource': 3, 'data.remote-state': 1 } });
    expect(parsed.resources[2]).toEqual({
      name: 'c',
      type: 'data.remote_state',
      count: 1,
      module: 'root',
      provider: aws,
    });
  });

  it('reports the indexes of instances, wherever they are in the instance', () => {
    const keysOf = (...instances: unknown[]) => {
      const resource = { mode: 'managed', type: 't', name: 'n', provider: 'p', instances };
      return read(bytes({ version: 4, resources: [resource] })).resources[0];
    };
    expect(keysOf({ attributes: { index_key: 'inner' } })).not.toHaveProperty('keys');
    expect(keysOf({ index_key: null })).not.toHaveProperty('keys');
    expect(keysOf()).toMatchObject({ count: 0, keys: [] });
    expect(keysOf({ index_key: 0 }, { attributes: {}, index_key: 'a\ud800' })).toMatchObject({ keys: [0, 'a\ufffd'] });
    expect(keysOf({ index_key: 0, deposed: 'd' }, { index_key: 0 })).toMatchObject({ count: 2, keys: [0] });
    const strange = [{}, true, 0.5, 1e300, 'x'.repeat(5_000)].map((index_key) => ({ index_key }));
    expect(keysOf({}, ...strange)).toMatchObject({ count: 6 });
    expect(keysOf({}, ...strange)).not.toHaveProperty('keys');
    expect(keysOf(...strange)).toMatchObject({ count: 5, keys: [] });
  });

  it('lists no more indexes than fit, however many instances there are', () => {
    const many = (index_key: (i: number) => unknown, count: number) => ({
      ...{ mode: 'managed', type: 't', name: 'n', provider: 'p' },
      instances: Array.from({ length: count }, (_, i) => ({ index_key: index_key(i) })),
    });
    const numbers = [many((i) => i, 60_000), many((i) => i, 60_000)];
    const [first, second] = read(bytes({ version: 4, resources: numbers })).resources;
    expect(first?.keys).toHaveLength(60_000);
    expect(second).toMatchObject({ count: 60_000 });
    expect(second?.keys).toHaveLength(40_000);
    const long = read(bytes({ version: 4, resources: [many((i) => `${'x'.repeat(4_000)}${i}`, 6_000)] }));
    const room = (long.resources[0]?.keys ?? []).reduce<number>((sum, key) => sum + String(key).length, 0);
    expect(room).toBeLessThanOrEqual(listedCharacters);
    expect(room).toBeGreaterThan(listedCharacters / 2);
    expect(long.managedCount).toBe(6_000);
  });

  it.each([
    ['string', 'string', 'string'],
    ['number', 'number', 'number'],
    ['bool', 'boolean', 'bool'],
    [['tuple', ['string', 'number']], 'array', ['tuple', ['string', 'number']]],
    [['list', 'string'], 'array', ['list', 'string']],
    [['object', { foo: 'string' }], 'object', ['object', { foo: 'string' }]],
    [['map', 'string'], 'object', ['map', 'string']],
    ['constructor', 'constructor', 'constructor'],
  ])('names the output type %j %s (WV.24)', (type, plain, detailed) => {
    const [output] = read(bytes({ version: 4, outputs: { o: { value: 1, type, sensitive: true } } })).outputs;
    expect(output).toMatchObject({ name: 'o', type: plain, detailedType: detailed, sensitive: true });
  });

  it.each([['{bad'], ['[]'], ['"text"'], ['{}'], ['{"version":"4"}'], ['\u0000'], [''], ['7'], ['{"version":4}x']])(
    'refuses %j',
    (text) => {
      expect(() => read(Buffer.from(text))).toThrow(NoState);
    },
  );

  it.each([
    [990, 'read with every digit'],
    [1_001, 'refused'],
    [5_500, 'refused'],
    [9_990, 'refused'],
  ])('with an output nested %i levels deep is %s', (levels, what) => {
    for (const number of ['1', '1.50']) {
      const value = `${'['.repeat(levels)}${number}${']'.repeat(levels)}`;
      const text = Buffer.from(`{"version":4,"outputs":{"o":{"value":${value}}}}`);
      if (what === 'refused') expect(() => read(text)).toThrow(NoState);
      else expect(read(text).outputs[0]!.valueText).toBe(value);
    }
  });

  it('has the same result however the bytes are split', () => {
    const state = {
      version: 4,
      serial: 12,
      lineage: 'äöü 🌍',
      outputs: {
        ä: { value: { deep: [1, -2.5e3, null, true] }, type: 'string' },
        two: { value: '"\\', type: 'string' },
      },
      check: [{ type: 'not a resource', instances: [1] }],
      resources: [
        {
          mode: 'managed',
          type: 'a_b',
          name: '🌍',
          provider: 'p',
          instances: [{ instances: [1, 2] }, [], 3],
          deps: { type: 'x' },
        },
        'no resource',
        { instances: {}, type: ['x'], name: 'later', mode: 'managed' },
      ],
    };
    const whole = read(bytes(state));
    expect(whole.resources).toMatchObject([
      { name: '🌍', type: 'a_b', count: 3 },
      { name: 'later', type: '', count: 0 },
    ]);
    expect(whole.outputs).toHaveLength(2);
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 30 }), fc.boolean(), (cuts, pretty) => {
        const text = Buffer.from(JSON.stringify(state, null, pretty ? 2 : undefined));
        expect(read(text, cuts)).toEqual(whole);
      }),
    );
  });

  it('uses the last of equal keys', () => {
    const text =
      '{"version":3,"outputs":{"a":{"value":1},"a":2},"version":4,"resources":[{"type":"x"}],"resources":[]}';
    expect(read(Buffer.from(text))).toMatchObject({ format: 4, outputs: [], resources: [] });
  });

  it('replaces characters that the database cannot store', () => {
    const text = '{"version":4,"lineage":"a\\u0000b","resources":[{"type":"\\ud800","name":"n\\u0000"}]}';
    expect(read(Buffer.from(text))).toMatchObject({ lineage: 'a�b', resources: [{ type: '�', name: 'n�' }] });
  });

  it('reports the position of the serial', () => {
    const text = Buffer.from('{"a":{"serial":1},"lineage":"ä","serial": 41 ,"version":4}');
    const reader = new StateReader();
    for (const byte of text) reader.write(Uint8Array.of(byte));
    reader.end();
    const { from, to } = reader.serialAt!;
    expect(text.subarray(from, to).toString().trim()).toBe('41');
  });

  it('parses every string like JSON.parse, however often it is repeated and however it is split', () => {
    const name = fc.oneof(fc.constantFrom('a', 'ab', 'b', 'type', 'x_y', '"', 'ä\n', 'z'.repeat(70)), fc.string());
    const field = fc.oneof(
      { weight: 5, arbitrary: name },
      { weight: 1, arbitrary: fc.constantFrom(1, 12, true, null) },
    );
    const resource = fc.record(
      { mode: fc.constantFrom('managed', 'data'), module: field, type: field, name: field, provider: field },
      { requiredKeys: [] },
    );
    const cuts = fc.array(fc.nat(), { maxLength: 10 });
    fc.assert(
      fc.property(fc.array(resource, { maxLength: 30 }), cuts, fc.boolean(), (resources, places, pretty) => {
        const text = Buffer.from(JSON.stringify({ version: 4, resources }, null, pretty ? 2 : undefined));
        const said = (value: unknown) => (typeof value === 'string' ? storableText(value) : '');
        const expected = (JSON.parse(text.toString()).resources as Record<string, unknown>[]).map((given) => ({
          name: said(given.name),
          type: (given.mode === 'data' ? 'data.' : '') + said(given.type),
          count: 0,
          module: said(given.module) || 'root',
          provider: said(given.provider),
        }));
        expect(read(text, places).resources).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('leaves out names above the limit', () => {
    const long = 'x'.repeat(5_000);
    const { resources } = read(bytes({ version: 4, resources: [{ type: long, name: 'n', provider: 'p' }] }));
    expect(resources).toEqual([{ name: 'n', type: '', count: 0, module: 'root', provider: 'p' }]);
  });

  it('lists and counts no more strings than fit, however long each is', () => {
    const reader = new StateReader();
    reader.write(Buffer.from('{"version":4,"resources":['));
    const count = 6_000;
    for (let i = 0; i < count; i++) {
      const fill = 'x'.repeat(3_990);
      const resource = { type: `${fill}t`, name: 'n', module: `${fill}${i}`, provider: 'p', instances: [{}] };
      reader.write(Buffer.from(`${i === 0 ? '' : ','}${JSON.stringify(resource)}`));
    }
    reader.write(Buffer.from(']}'));
    const { resources, modules, managedCount } = reader.end();
    const characters = resources.reduce((sum, { type, module }) => sum + type.length + module.length, 0);
    expect(characters).toBeLessThanOrEqual(listedCharacters);
    expect(resources.length).toBeGreaterThan(2_000);
    expect(Object.keys(modules).length).toBeLessThan(count);
    expect(managedCount).toBe(count);
  });

  it('keeps no more than necessary of values that are too large', () => {
    const long = 'x'.repeat(100_000);
    const parsed = read(
      bytes({ version: 4, lineage: long, resources: [{ type: 't', name: long, instances: [] }] }),
      [9, 70_000],
    );
    expect(parsed).toMatchObject({ lineage: '', resources: [{ type: 't', name: '' }] });
  });
});

describe('reading JSON', () => {
  const accepts = (text: Uint8Array, cuts: readonly number[]): boolean => {
    const scanner = new JsonScanner({ deepest: -1, key: () => undefined, begin: () => 0, end: () => undefined });
    try {
      let from = 0;
      for (const to of [...cuts].map((cut) => cut % (text.length + 1)).sort((a, b) => a - b)) {
        scanner.write(text.subarray(from, to));
        from = to;
      }
      scanner.write(text.subarray(from));
      scanner.end();
      return true;
    } catch {
      return false;
    }
  };
  const isJson = (text: Uint8Array): boolean => {
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text));
      return true;
    } catch {
      return false;
    }
  };

  it.each([
    '0',
    '-0',
    '01',
    '-',
    '1.',
    '.5',
    '1e',
    '1e+',
    '1E-7',
    '-1.5e10',
    '1.5e',
    '2e5',
    '[1,]',
    '{"a":1,}',
    '{,}',
    '[,]',
    '"\\u12G4"',
    '"\\u12f4"',
    '"\\x"',
    '"\\"',
    '"a\nb"',
    '"\u007f"',
    'nul',
    'nulL',
    'true false',
    '{"a" 1}',
    '{"a":}',
    '{a:1}',
    '[]]',
    '[[]',
    '{"a":1]',
    '\ufeff1',
    ' \t\r\n1 ',
    '\u00a01',
    '"\\ud800"',
    '{"a":{},"b":[{}]}',
    'tru',
    '',
    '[1 2]',
    '--1',
    '+1',
  ])('accepts or refuses %j like JSON.parse', (text) => {
    const given = Buffer.from(text);
    expect(accepts(given, [])).toBe(isJson(given));
    expect(accepts(given, [1, 2, 3])).toBe(isJson(given));
  });

  it('accepts or refuses every string like JSON.parse, however it is split', () => {
    const alphabet = [...'{}[]:,"\\u0123456789eE+-.truefalsn \n'].map((letter) => letter.charCodeAt(0));
    const byte = fc.oneof(fc.constantFrom(...alphabet), fc.nat(255));
    const change = fc.record({ at: fc.nat(), byte, kind: fc.constantFrom('put', 'drop', 'set') });
    const changed = fc.tuple(fc.json({ noUnicodeString: false } as object), fc.array(change, { maxLength: 3 }));
    fc.assert(
      fc.property(changed, fc.array(fc.nat(), { maxLength: 8 }), ([json, changes], cuts) => {
        let text = [...Buffer.from(json)];
        for (const { at, byte: value, kind } of changes) {
          const place = at % (text.length + 1);
          if (kind === 'put') text.splice(place, 0, value);
          else if (kind === 'drop') text.splice(place, 1);
          else text = text.map((old, index) => (index === place ? value : old));
        }
        const given = Uint8Array.from(text);
        expect(accepts(given, cuts)).toBe(isJson(given));
      }),
      { numRuns: 2000 },
    );
  });
});
