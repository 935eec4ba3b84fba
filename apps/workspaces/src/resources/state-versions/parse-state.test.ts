import { describe, expect, it } from '@jest/globals';
import { NoState, parseState } from './parse-state';

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

describe('reading a state', () => {
  it('tells resources by module and provider, and counts managed instances', () => {
    const aws = 'provider["registry.example/acme/aws"]';
    const parsed = parseState(
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
    expect(parsed).toMatchObject({ format: 4, infraVersion: '1.11.4', serial: 7, lineage: 'l-1', managedCount: 3 });
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

  it.each([
    ['string', 'string', 'string'],
    ['number', 'number', 'number'],
    ['bool', 'boolean', 'bool'],
    [['tuple', ['string', 'number']], 'array', ['tuple', ['string', 'number']]],
    [['list', 'string'], 'array', ['list', 'string']],
    [['object', { foo: 'string' }], 'object', ['object', { foo: 'string' }]],
    [['map', 'string'], 'object', ['map', 'string']],
  ])('names the output type %j %s (WV.24)', (type, plain, detailed) => {
    const [output] = parseState(bytes({ version: 4, outputs: { o: { value: 1, type, sensitive: true } } })).outputs;
    expect(output).toMatchObject({ name: 'o', type: plain, detailedType: detailed, sensitive: true });
  });

  it.each([['{bad'], ['[]'], ['"text"'], ['{}'], ['{"version":"4"}'], ['\u0000']])('refuses %j', (text) => {
    expect(() => parseState(Buffer.from(text))).toThrow(NoState);
  });
});
