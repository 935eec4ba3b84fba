import { describe, expect, it, jest } from '@jest/globals';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { examples, type World } from './at-once-examples';
import { worldOf } from './at-once-world';
import { startWorkspaces } from './start-workspaces';

jest.setTimeout(300_000);

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

// Every create that accepts an Idempotency-Key: a repetition only reads the created resource, and does not bypass
// rights.
describe('a create that is sent again with its key', () => {
  const workspaces = startWorkspaces();
  const creates = resources
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ idempotent, edition }) => idempotent && edition !== 'hosted');
  const as: World['as'] = async (token, method, path, body) => {
    const word = method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete';
    const { status, text } = await workspaces.as(token)[word](path, body);
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
    const { data, meta } = text === '' ? ({} as Record<string, unknown>) : JSON.parse(text);
    return meta === undefined || Array.isArray(data) ? data : { ...(data as object), meta };
  };
  const world = worldOf(workspaces, as);

  /** Removes the rights of a person who administered the site and owned what they created, or restores them. */
  const setRights = async (has: boolean): Promise<void> => {
    const { pool } = workspaces.service;
    const whose = "WHERE user_id = (SELECT id FROM user_account WHERE username = 'admin')";
    await pool.query(`UPDATE membership SET status = '${has ? 'active' : 'invited'}' ${whose}`);
    await pool.query(`UPDATE user_account SET site_admin = ${has} WHERE username = 'admin'`);
  };

  it('is answered with the created resource, unless its sender may no longer see that', async () => {
    const wrong: string[] = [];
    const untried: string[] = [];
    for (const endpoint of creates) {
      const name = nameOf(endpoint);
      const making = examples[name];
      if (typeof making !== 'function') {
        untried.push(name);
        continue;
      }
      const { at = {}, body, token, query = '' } = await making(world);
      const path = endpoint.path.replace(/:(\w+)/g, (_, param: string) => at[param]!) + query;
      const sent = body?.(0);
      const send = () =>
        workspaces
          .as(token ?? workspaces.admin.token!)
          .post(path, sent)
          .set('Idempotency-Key', name);
      const first = await send();
      const again = await send();
      if (first.status !== 201) wrong.push(`${name}: ${first.status} ${first.text}`);
      else if (again.status !== 201 || again.body.data.id !== first.body.data.id)
        wrong.push(`${name} again: ${again.status} ${again.text}`);
      if (token !== undefined) continue;
      await setRights(false);
      const after = await send();
      await setRights(true);
      if (after.status !== 404) wrong.push(`${name} without the right: ${after.status} ${after.text}`);
    }
    expect(wrong).toEqual([]);
    expect(untried).toEqual([]);
    expect(creates.length).toBeGreaterThan(20);
  });
});
