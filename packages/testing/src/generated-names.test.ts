import { describe, expect, it } from '@jest/globals';
import { generatorFaults } from './generated-names';

const object = (...fields: string[]) => ({ properties: Object.fromEntries(fields.map((name) => [name, {}])) });
const operation = (operationId: string, more: object = {}) => ({ operationId, responses: {}, ...more });
const responseOf = (schema: object, type = 'application/json') => ({ 200: { content: { [type]: { schema } } } });

describe('an obstacle for client generators', () => {
  it.each([
    [{ get: operation('a_b'), put: operation('aB') }, {}, ['the operation aB is at get /x and at put /x']],
    [{}, { AB: object(), A_b: {} }, ['the type A_b is at AB and at A_b']],
    [{}, { A: object('b-c', 'b_c') }, ['the field b_c is at A/b-c and at A/b_c']],
    [
      {
        get: operation('a', {
          parameters: [
            { in: 'query', name: 'b[c]' },
            { in: 'path', name: 'b_c' },
          ],
        }),
      },
      {},
      ['the parameter b_c is at get /x query b[c] and at get /x path b_c'],
    ],
    [
      { get: operation('a', { responses: responseOf({ items: object('b') }) }) },
      { AResponse200Item: {} },
      ['the type a Response 200 Item is at AResponse200Item and at get /x 200/[]'],
    ],
    [
      { get: operation('a', { responses: responseOf({}, 'application/gzip') }) },
      {},
      ['get /x answers 200 as application/gzip'],
    ],
    [
      { put: operation('a', { requestBody: { content: { 'application/xml': {} } } }) },
      {},
      ['put /x takes application/xml'],
    ],
    [
      { put: operation('a', { requestBody: { content: { 'application/json': {}, 'application/a+json': {} } } }) },
      {},
      ['put /x takes the same as application/json and application/a+json'],
    ],
    [
      { get: operation('a', { responses: responseOf({ $ref: '#/components/schemas/A' }) }), put: operation('ab') },
      { A: object('b', 'c'), B: object('b', 'c') },
      [],
    ],
  ])('is found in %j with %j', (item, schemas, faults) => {
    expect(generatorFaults({ paths: { '/x': item }, components: { schemas } })).toEqual(faults);
  });
});
