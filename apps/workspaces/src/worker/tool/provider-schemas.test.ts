import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Binary } from './binaries';
import { type ProviderSchemas, SchemaCache, SchemaReader, type WantedSchemas } from './provider-schemas';

const wantedOf = (providers: string[], types: string[]): WantedSchemas => ({
  providers: new Set(providers),
  types: new Set(types),
});

const block = (text: string) => ({ version: 1, block: { attributes: { id: { type: 'string', description: text } } } });
const printed = {
  format_version: '1.0',
  provider_schemas: {
    'registry/mill': {
      provider: block('mill "{\\'),
      resource_schemas: { mill_wheel: block('}]"'), mill_stone: block('stone'), provider: block('named so') },
      data_source_schemas: { mill_wheel: block('read'), mill_river: block('river') },
      functions: { mill_wheel: { return_type: 'string' } },
    },
    'registry/barn': { provider: block('barn'), resource_schemas: { mill_wheel: block('of another') } },
    'registry/plain': { provider: block('plain') },
  },
};

function read(text: string, wanted: WantedSchemas, pieceBytes: number): ProviderSchemas {
  const reader = new SchemaReader(wanted);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.write(bytes.subarray(at, at + pieceBytes));
  return reader.end();
}

describe('the schemas of providers', () => {
  it.each([1, 7, 100_000])('are picked by provider and type, in pieces of %i bytes', (pieceBytes) => {
    const wanted = wantedOf(['registry/mill', 'registry/plain'], ['mill_wheel', 'provider', 'absent']);
    expect(read(JSON.stringify(printed), wanted, pieceBytes)).toEqual({
      format_version: '1.0',
      provider_schemas: {
        'registry/mill': {
          provider: block('mill "{\\'),
          resource_schemas: { mill_wheel: block('}]"'), provider: block('named so') },
          data_source_schemas: { mill_wheel: block('read') },
        },
        'registry/plain': { provider: block('plain'), resource_schemas: {}, data_source_schemas: {} },
      },
    });
  });

  it('that are truncated or invalid are refused', () => {
    for (const text of [JSON.stringify(printed).slice(0, -1), 'Error: no provider', ''])
      expect(() => read(text, wantedOf([], []), 10)).toThrow(expect.objectContaining({ name: 'NotJson' }));
  });
});

describe('schemas of the provider that is part of the tool', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'built-in-'));
  afterAll(() => rmSync(box, { recursive: true, force: true }));
  const builtIn = 'terraform.io/builtin/terraform';
  const said = { format_version: '1.0', provider_schemas: { [builtIn]: { provider: block('built in') } } };
  /** Replaces the tool, and counts how often it is called. */
  const tool = (name: string, answer: object): Binary & { asked(): number } => {
    const file = path.join(box, name);
    writeFileSync(file, `#!/bin/sh\necho "$@" >> ${file}.asked\necho '${JSON.stringify(answer)}'\n`, { mode: 0o755 });
    const asked = () => readFileSync(`${file}.asked`, 'utf8').split('\n').length - 1;
    return { file, version: '1.11.4', product: 'Terraform', asked };
  };

  it('are requested once if a plan needs no others', async () => {
    const cache = new SchemaCache(1000);
    const terraform = tool('terraform', said);
    const find = (...providers: string[]) => cache.findBuiltIn(terraform, wantedOf(providers, ['terraform_data']));
    expect(await find('registry/mill', builtIn)).toBeUndefined();
    expect(await Promise.all([find(builtIn), find()])).toEqual([said, said]);
    expect(await find(builtIn)).toEqual(said);
    expect(terraform.asked()).toBe(1);
  });

  it('are not taken from a tool that does not print them', async () => {
    const silent = tool('silent', { format_version: '1.0' });
    expect(await new SchemaCache(1000).findBuiltIn(silent, wantedOf([], []))).toBeUndefined();
  });
});

describe('cached schemas', () => {
  const schemas = (text: string): ProviderSchemas => ({
    format_version: text,
    provider_schemas: {},
  });

  it('are found if they contain everything requested', () => {
    const cache = new SchemaCache(10_000);
    cache.keep('a', wantedOf(['p'], ['x', 'y']), schemas('a'));
    expect(cache.find('a', wantedOf(['p'], ['x']))).toEqual(schemas('a'));
    expect(cache.find('a', wantedOf(['p'], ['z']))).toBeUndefined();
    expect(cache.find('a', wantedOf(['q'], ['x']))).toBeUndefined();
    expect(cache.find('b', wantedOf(['p'], ['x']))).toBeUndefined();
    expect([cache.has('a'), cache.has('b')]).toEqual([true, false]);
  });

  it('evict the least recently used to make room for newer ones', () => {
    const cache = new SchemaCache(1000);
    const text = 'x'.repeat(180);
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      cache.keep(key, wantedOf([], []), schemas(text));
      cache.find('a', wantedOf([], []));
    }
    expect(['a', 'b', 'c', 'd', 'e'].filter((key) => cache.has(key))).toEqual(['a', 'c', 'd', 'e']);
    cache.keep('f', wantedOf([], []), schemas('x'.repeat(300)));
    expect(cache.has('f')).toBe(false);
  });
});
