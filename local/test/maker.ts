import { expect } from '@jest/globals';
import { call } from '@keystead/testing';

/** Makes things in the workspace service at an address, as whoever has the token; each call answers the new id. */
export const makerOf = (api: string, token: string) => {
  return async (path: string, body: object): Promise<string> => {
    const answer = await call(`${api}/${path}`, token, 'POST', body);
    expect(answer?.status).toBe(201);
    return (answer!.body as { data: { id: string } }).data.id;
  };
};
