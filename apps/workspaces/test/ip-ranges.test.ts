import { describe, expect, it } from '@jest/globals';
import { readConfig } from '../src/config';
import { startWorkspaces } from './start-workspaces';

describe('addresses of the service', () => {
  const blocks = ['192.0.2.1/32', '198.51.100.0/24', '2001:db8::/48'];
  const workspaces = startWorkspaces({ env: { WORKSPACES_IP_RANGES: '192.0.2.1, 198.51.100.0/24,2001:db8::/48' } });

  it('are shown to every caller, with a conditional request only when they have changed', async () => {
    const { body, headers } = await workspaces.anyone.get('/api/meta/ip-ranges').expect(200);
    const all = { api: blocks, notifications: blocks, polengine: blocks, sentinel: blocks, vcs: blocks };
    expect(body).toEqual(all);
    const asked = (since: string) => workspaces.anyone.get('/api/meta/ip-ranges').set('If-Modified-Since', since);
    const again = await asked(headers['last-modified']!).expect(304);
    expect(again.text).toBe('');
    for (const since of ['Sat, 01 Jan 2000 00:00:00 GMT', 'yesterday']) {
      expect((await asked(since).expect(200)).body).toEqual(all);
    }
  });

  it.each(['here', '192.0.2.1/33', '192.0.2.1/', '2001:db8::/129', '192.0.2.1/24/8', '192.0.2.1,,192.0.2.2'])(
    'cannot be %j',
    (text) => {
      const env = { WORKSPACES_DATABASE_URL: 'postgres://x/y', WORKSPACES_SEAL_KEY: '22'.repeat(32) };
      expect(readConfig({ ...env, WORKSPACES_IP_RANGES: '192.0.2.1' }).ipRanges).toEqual(['192.0.2.1/32']);
      expect(() => readConfig({ ...env, WORKSPACES_IP_RANGES: text })).toThrow(/WORKSPACES_IP_RANGES/);
    },
  );
});
