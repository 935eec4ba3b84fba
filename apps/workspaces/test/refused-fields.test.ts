import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { wrongValueOf } from '@keystead/testing';
import { type Json, nested, type Taking, takingOf } from './fields-walk';

/** The place at which a body is refused. */
function refusedAt({ endpoint }: Taking, body: object, edition: string): string[] {
  try {
    endpoint.body!.parse(body, { aliases: true, edition });
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.issues.map(({ path }) => path.join('/'));
  }
}

describe.each(['self-hosted', 'hosted'] as const)('every document that the %s edition accepts', (edition) => {
  const operations = takingOf(edition).filter(({ schema }) => schema.properties?.data?.properties);
  const fieldsOf = (one: Taking, kind: 'attributes' | 'relationships'): [string, Json][] =>
    Object.entries<Json>(one.schema.properties.data.properties[kind]?.properties ?? {});
  const refuses = (one: Taking, path: readonly string[], value: unknown) =>
    refusedAt(one, { data: { type: one.type, ...nested(path, value) } }, edition).includes(['data', ...path].join('/'));

  it('refuses an attribute of another type, with its position', () => {
    const fields = operations.flatMap((one) =>
      fieldsOf(one, 'attributes').map(([key, schema]) => ({ one, key, schema })),
    );
    const checked = fields.filter(({ schema }) => wrongValueOf(schema) !== undefined);
    expect(checked.length).toBeGreaterThan(300);
    const taken = checked.filter(({ one, key, schema }) => !refuses(one, ['attributes', key], wrongValueOf(schema)));
    expect(taken.map(({ one, key }) => `${one.name} ${key}`)).toEqual([]);
  });

  it('refuses a name that is blank or contains invisible characters, with its position', () => {
    const fields = operations.flatMap((one) =>
      fieldsOf(one, 'attributes')
        .filter(([key, { type }]) => type === 'string' && key === (one.type === 'vars' ? 'key' : 'name'))
        .map(([key, schema]) => ({ one, key, schema })),
    );
    expect(fields.length).toBeGreaterThan(15);
    const taken = fields.flatMap(({ one, key, schema }) =>
      [...(schema.nullable ? [] : [' ']), 'a\nb', 'a\u0000b', 'a\u200bb', 'a\u202eb']
        .filter((value) => !refuses(one, ['attributes', key], value))
        .map((value) => `${one.name} ${key} ${JSON.stringify(value)}`),
    );
    expect(taken).toEqual([]);
  });

  it('refuses a token for another system that a header cannot contain, with its position', () => {
    const tokens = operations.filter((one) =>
      fieldsOf(one, 'attributes').some(([key]) => key === 'oauth-token-string'),
    );
    expect(tokens.length).toBeGreaterThan(0);
    for (const one of tokens) {
      expect(refuses(one, ['attributes', 'oauth-token-string'], 'pasted\n')).toBe(true);
      expect(refuses(one, ['attributes', 'oauth-token-string'], 'pasted')).toBe(false);
    }
  });

  it.each(['attributes', 'relationships'])('refuses %s that are not objects', (part) => {
    const values = ['x', 5, true, []];
    const taken = operations.flatMap((one) =>
      values.filter((value) => !refuses(one, [part], value)).map((value) => [one.name, value]),
    );
    expect(taken).toEqual([]);
  });

  it('refuses resources of another type in a relationship, with its position', () => {
    const fields = operations.flatMap((one) =>
      fieldsOf(one, 'relationships').map(([key, schema]) => ({ one, key, schema })),
    );
    expect(fields.length).toBeGreaterThan(35);
    const taken = fields.filter(({ one, key, schema }) => {
      const wrong = { type: 'nothings', id: 'nothing-1' };
      const body = nested(['relationships', key], { data: schema.properties.data.items ? [wrong] : wrong });
      // For whole resources the wrong part is named.
      const place = `data/relationships/${key}`;
      return !refusedAt(one, { data: { type: one.type, ...body } }, edition).some(
        (at) => at === place || at.startsWith(`${place}/`),
      );
    });
    expect(taken.map(({ one, key }) => `${one.name} ${key}`)).toEqual([]);
  });
});
