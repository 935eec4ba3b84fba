import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startWorkspaces } from './start-workspaces';

const places = ['/app/settings/tokens?source=login', '/app/one-time-links/some-secret'];

describe('addresses given to people', () => {
  const workspaces = startWorkspaces();
  const led = async (address: string) => {
    const { headers } = await request(workspaces.server).get(address).expect(302);
    expect(headers['cache-control']).toBe('no-store');
    return headers.location;
  };

  it('lead to pages of the console, with the secret of a link after the #, which is not sent to servers', async () => {
    expect(await led(places[0]!)).toBe('/ui/account');
    expect(await led(places[1]!)).toBe('/ui/one-time-link#some-secret');
    expect(await led('/app/one-time-links/a%0d%0aSet-Cookie:%20b=c')).toBe(
      '/ui/one-time-link#a%0D%0ASet-Cookie%3A%20b%3Dc',
    );
  });
});

describe('addresses given to people, without a console', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_UI: 'off' } });

  it('are not found, and offer tools no login', async () => {
    for (const place of places) await request(workspaces.server).get(place).expect(404);
    const { body } = await workspaces.anyone.get('/.well-known/terraform.json').expect(200);
    expect(body).not.toHaveProperty('login.v1');
  });
});
