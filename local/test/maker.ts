import { expect } from '@jest/globals';
import { call } from '@keystead/testing';

/**
 * Makes things in the workspace service at an address, with a token; each call answers the new id. What got no
 * answer, such as the first request on a connection whose other end was killed, is sent again: a body that is made for each
 * time can name something else then.
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
