import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { resource, startWorkspaces } from './start-workspaces';

const hourMs = 3_600_000;
const state = Buffer.from('{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}');
const md5 = createHash('md5').update(state).digest('hex');

describe('links that hold their own secret', () => {
  let now = Date.now();
  const workspaces = startWorkspaces({ now: () => now, env: { WORKSPACES_TRUSTED_PROXIES: '192.0.2.0/24' } });
  beforeAll(() => workspaces.organization('acme'));
  const { admin } = workspaces;
  let counter = 0;

  const announced = async (): Promise<Record<string, string>> => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const body = resource('state-versions', { serial: 1, md5 });
    const made = await admin
      .post(`workspaces/${id}/state-versions`, body)
      .set('X-Forwarded-Host', 'evil.example')
      .set('X-Forwarded-Proto', 'http')
      .set('Forwarded', 'host=evil.example;proto=http')
      .set('Host', 'evil.example')
      .expect(201);
    return made.body.data.attributes;
  };
  const path = (link: string) => link.replace('https://workspaces.test', '');
  const put = (link: string) => request(workspaces.server).put(path(link)).send(state);

  it('begin with the configured address, not with the host in a request', async () => {
    const links = await announced();
    for (const name of ['hosted-state-upload-url', 'hosted-json-state-upload-url']) {
      expect(links[name]).toMatch(/^https:\/\/workspaces\.test\/api\/v2\/state-versions\/sv-\w+\/content\//);
    }
  });

  it('are valid for one upload each, of one format of one version', async () => {
    const [mine, other] = [await announced(), await announced()];
    const raw = mine['hosted-state-upload-url']!;
    const query = raw.slice(raw.indexOf('?'));
    await put(mine['hosted-json-state-upload-url']!.replace(/\?.*/, query)).expect(404);
    await put(other['hosted-state-upload-url']!.replace(/\?.*/, query)).expect(404);
    await put(raw).expect(200);
    await put(raw).expect(409);
  });

  it('work for a day, and then no longer', async () => {
    const links = await announced();
    const [raw, json] = [links['hosted-state-upload-url']!, links['hosted-json-state-upload-url']!];
    now += 24 * hourMs;
    await put(raw).expect(200);
    now += 3 * hourMs;
    await put(json).expect(404);
    const expires = new URL(json).searchParams.get('expires');
    await put(json.replace(`expires=${expires}`, `expires=${Number(expires) + 86_400}`)).expect(404);
  });

  it('ignore a valid token that is sent with them, but not an unknown one', async () => {
    const links = await announced();
    await put(links['hosted-json-state-upload-url']!).set('Authorization', 'Bearer unknown').expect(401);
    await put(links['hosted-state-upload-url']!).set('Authorization', `Bearer ${admin.token}`).expect(200);
  });
});
