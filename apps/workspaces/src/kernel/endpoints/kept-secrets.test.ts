import { describe, expect, it } from '@jest/globals';
import { document, sentTo } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Endpoint } from './endpoint';
import { withKeptSecrets } from './kept-secrets';

describe('an update of a resource with a stored secret', () => {
  const body = document('things', {
    attributes: {
      'api-key': sentTo(z.string(), 'api-url').nullish(),
      'api-url': z.string().optional(),
      name: z.string().optional(),
    },
  });
  const patch = { method: 'PATCH', body } as unknown as Endpoint;
  const target = { apiKey: undefined, apiUrl: 'https://one.test', name: 'one' };
  const update = (sent: object, before: object = target) => withKeptSecrets(patch, before, sent);

  it('changes an address only together with the secret', () => {
    expect(() => update({ apiUrl: 'https://two.test' })).toThrow('invalid attribute');
    const whole = { apiUrl: 'https://two.test', apiKey: 'k' };
    expect(update(whole)).toEqual(whole);
    const taken = { apiUrl: 'https://two.test', apiKey: null };
    expect(update(taken)).toEqual(taken);
  });

  it('does not write an unchanged address: someone may have changed it with its secret at the same time', () => {
    expect(update({ apiUrl: 'https://one.test', name: 'two' })).toEqual({ name: 'two' });
  });

  it('is unrestricted if there is no secret', () => {
    const moved = { apiUrl: 'https://two.test' };
    expect(update(moved, { ...target, apiKey: null })).toEqual(moved);
  });
});
