import { expect } from '@jest/globals';
import { call } from '@keystead/testing';

/**
 * Creates things in the workspace service at an address, with a token; each call returns the new id. Unanswered
 * requests, such as the first one on a connection whose other end was killed, are repeated: a body that is built for
 * each attempt can then use another name.
 */
export const makerOf = (api: string, token: string) => {
  return async (path: string, body: object | ((time: number) => object)): Promise<string> => {
    for (let time = 0; ; time++) {
      const sent = typeof body === 'function' ? body(time) : body;
      const answer = await call(`${api}/${path}`, token, 'POST', sent);
      if (answer === undefined && typeof body === 'function' && time < 5) continue;
      expect(answer?.status).toBe(201);
      return (answer!.body as { data: { id: string } }).data.id;
    }
  };
};
