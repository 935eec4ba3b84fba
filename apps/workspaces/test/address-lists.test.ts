import { beforeAll, describe, expect, it } from '@jest/globals';
import { rangeOf } from '../src/kernel/access/address-ranges';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

// If this failed, a stolen token could be used from anywhere, or owners could lock themselves out.

const here = '127.0.0.1';
const elsewhere = '203.0.113.7';

describe('lists of addresses', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_TRUSTED_PROXIES: '127.0.0.1/32' } });
  let owner: Client & { id: string; username: string };
  let counter = 0;
  let name = '';

  beforeAll(async () => {
    owner = await workspaces.person('keeper');
  });
  const organization = async () => {
    name = `gated-${++counter}`;
    await workspaces.organization(name, {}, owner);
    return name;
  };
  const list = async (attributes: object = {}, relationships?: object) =>
    (
      await owner
        .post(
          `organizations/${name}/cidr-range-lists`,
          resource('cidr-range-lists', { name: 'office', ...attributes }, relationships),
        )
        .expect(201)
    ).body.data;
  const range = (listId: string, text: string, enabled = true) =>
    owner.post(
      `cidr-range-lists/${listId}/relationships/cidr-ranges`,
      resource('cidr-ranges', { range: text, enabled }),
    );
  const from = (address: string, client: Client = owner) =>
    client.get(`organizations/${name}/agent-pools`).set('X-Forwarded-For', address);

  it('counts strangers from one IPv6 customer as one caller', async () => {
    const settings = (attributes: object) =>
      workspaces.admin.patch('admin/general-settings', resource('general-settings', attributes)).expect(200);
    await settings({ 'api-rate-limiting-enabled': true, 'api-rate-limit': 1 });
    const ask = (address: string) => workspaces.anyone.get('absent').set('X-Forwarded-For', address);
    const answers = await Promise.all(['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'].map(ask));
    expect(answers.map(({ status }) => status).sort()).toEqual([404, 404, 429]);
    await settings({ 'api-rate-limiting-enabled': false });
  });

  it('open an organization only to the addresses in them, for people, teams and its own tokens', async () => {
    await organization();
    const { body: crew } = await owner
      .post(`organizations/${name}/teams`, resource('teams', { name: 'crew' }))
      .expect(201);
    const { body: ofCrew } = await owner
      .post(`teams/${crew.data.id}/authentication-token`, resource('authentication-tokens'))
      .expect(201);
    const teamClient = workspaces.as(ofCrew.data.attributes.token);
    const made = await owner
      .post(`organizations/${name}/authentication-token`, resource('authentication-tokens'))
      .expect(201);
    const own = workspaces.as(made.body.data.attributes.token);
    const clients = [owner, teamClient, own];
    const { id } = await list();
    for (const client of clients) await from(elsewhere, client).expect(200);
    const { body } = await range(id, `${here}/32`).expect(201);
    for (const client of clients) {
      await from(here, client).expect(200);
      await from(`::ffff:${here}`, client).expect(200);
      await from(elsewhere, client).expect(404);
    }
    await range(id, '203.0.113.0/24').expect(201);
    for (const client of clients) await from(elsewhere, client).expect(200);
    await owner
      .patch(`cidr-range-lists/${id}`, resource('cidr-range-lists', { 'enforcement-scope': 'all_agent_pools' }))
      .expect(200);
    await owner.delete(`cidr-ranges/${body.data.id}`).expect(204);
    await from('198.51.100.1').expect(200);
  });

  it('stop limiting callers at once when they are changed, turned off or deleted', async () => {
    await organization();
    const { id } = await list();
    await range(id, here).expect(201);
    const other = (await range(id, elsewhere).expect(201)).body.data;
    expect(other.attributes).toMatchObject({ range: `${elsewhere}/32`, enabled: true });
    await from(elsewhere).expect(200);
    const change = (attributes: object) =>
      owner.patch(`cidr-ranges/${other.id}`, resource('cidr-ranges', attributes)).expect(200);
    await change({ enabled: false });
    await from(elsewhere).expect(404);
    await change({ enabled: true });
    await from(elsewhere).expect(200);
    await change({ range: '198.51.100.0/24' });
    await from(elsewhere).expect(404);
    await owner.delete(`cidr-range-lists/${id}`).expect(204);
    await from(elsewhere).expect(200);
    const { rows } = await workspaces.service.pool.query('SELECT 1 FROM cidr_range WHERE list_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  it('lock out neither the person who changes them nor site administrators', async () => {
    await organization();
    const { id } = await list();
    expect((await range(id, elsewhere).expect(422)).body.errors[0].detail).toContain('your own address 127.0.0.1');
    const mine = (await range(id, here).expect(201)).body.data;
    await range(id, elsewhere).expect(201);
    await owner.delete(`cidr-ranges/${mine.id}`).expect(422);
    await owner.patch(`cidr-ranges/${mine.id}`, resource('cidr-ranges', { enabled: false })).expect(422);
    const agents = (await list({ name: 'agents', 'enforcement-scope': 'all_agent_pools' })).id;
    await range(agents, elsewhere).expect(201);
    // Site administrators are not locked out even of an organization that they belong to.
    await workspaces.organization(`site-${counter}`);
    name = `site-${counter}`;
    const { body } = await workspaces.admin
      .post(`organizations/${name}/cidr-range-lists`, resource('cidr-range-lists', { name: 'closed' }))
      .expect(201);
    await workspaces.admin
      .post(
        `cidr-range-lists/${body.data.id}/relationships/cidr-ranges`,
        resource('cidr-ranges', { range: elsewhere, enabled: true }),
      )
      .expect(201);
    await from(here, workspaces.admin).expect(200);
  });

  it('limit agents of all pools, or of some, to their addresses, and record refusals', async () => {
    await organization();
    const pool = async (title: string) => {
      const { id } = (
        await owner.post(`organizations/${name}/agent-pools`, resource('agent-pools', { name: title })).expect(201)
      ).body.data;
      const { body } = await owner
        .post(`agent-pools/${id}/authentication-tokens`, resource('authentication-tokens', { description: 'x' }))
        .expect(201);
      return { id: id as string, agent: workspaces.as(body.data.attributes.token) };
    };
    const [one, two] = [await pool('one'), await pool('two')];
    const registers = (agent: Client, address: string) =>
      agent
        .post('/api/agent/v1/agents', {
          name: 'a',
          version: '0.2.0',
          protocol: { oldest: 1, newest: 1 },
          'tool-versions': ['1.11.4'],
          isolation: 'own-user',
        })
        .set('Content-Type', 'application/json')
        .set('X-Forwarded-For', address);
    const { id } = await list(
      { 'enforcement-scope': 'selected_agent_pools' },
      { 'agent-pools': { data: [ref('agent-pools', one.id).data] } },
    );
    await range(id, elsewhere).expect(201);
    await registers(one.agent, here).expect(401);
    const { rows } = await workspaces.service.pool.query(
      `SELECT e.after FROM audit_event e JOIN organization o ON o.id = e.organization_id
        WHERE e.action = 'agent.refuse' AND e.target_id = $1 AND o.name = $2`,
      [one.id, name],
    );
    expect(rows).toEqual([{ after: { path: '/api/agent/v1/agents', address: here } }]);
    await registers(one.agent, elsewhere).expect(201);
    await registers(two.agent, here).expect(201);
    await owner
      .post(`cidr-range-lists/${id}/relationships/agent-pools`, { data: [ref('agent-pools', two.id).data] })
      .expect(204);
    await registers(two.agent, here).expect(401);
    await owner
      .delete(`cidr-range-lists/${id}/relationships/agent-pools`, { data: [ref('agent-pools', one.id).data] })
      .expect(204);
    await registers(one.agent, here).expect(201);
    await owner
      .patch(`cidr-range-lists/${id}`, resource('cidr-range-lists', { 'enforcement-scope': 'all_agent_pools' }))
      .expect(200);
    await registers(one.agent, here).expect(401);
    await from(here).expect(200);
    await owner
      .post(`cidr-range-lists/${id}/relationships/agent-pools`, { data: [ref('agent-pools', 'apool-none').data] })
      .expect(422);
  });

  it('are for owners, listed, and in the audit trail', async () => {
    await organization();
    const { id } = await list({ description: 'the house' });
    const made = (await range(id, '2001:DB8::/32', false).expect(201)).body.data;
    const shown = (await owner.get(`cidr-range-lists/${id}`).expect(200)).body.data;
    expect(shown).toMatchObject({
      type: 'cidr-range-lists',
      attributes: { name: 'office', description: 'the house', 'enforcement-scope': 'organization' },
      relationships: { 'cidr-ranges': { data: [{ type: 'cidr-ranges', id: made.id }] } },
    });
    expect((await owner.get(`organizations/${name}/cidr-range-lists`).expect(200)).body.data).toEqual([shown]);
    expect((await owner.get(`cidr-range-lists/${id}/relationships/cidr-ranges`).expect(200)).body.data).toEqual([made]);
    expect((await owner.get(`cidr-ranges/${made.id}`).expect(200)).body.data.attributes.range).toBe('2001:db8::/32');
    const stranger = await workspaces.person(`passer-${counter}`);
    for (const path of [`organizations/${name}/cidr-range-lists`, `cidr-range-lists/${id}`, `cidr-ranges/${made.id}`]) {
      await stranger.get(path).expect(404);
    }
    await stranger.delete(`cidr-ranges/${made.id}`).expect(404);
    await owner.delete(`cidr-ranges/${made.id}`).expect(204);
    const { body } = await owner.get(`organizations/${name}/audit-events?page[size]=100`).expect(200);
    const actions = body.data.map((event: { attributes: { action: string } }) => event.attributes.action);
    expect(actions).toEqual(
      expect.arrayContaining(['cidr-range-list.create', 'cidr-range.create', 'cidr-range.delete']),
    );
    for (const text of ['10.0.0.0/33', '10.0.0', 'x', '', '::1/129', '10.0.0.0/8/8']) await range(id, text).expect(422);
  });

  it.each([
    ['10.1.2.3', '10.1.2.3/32'],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['FE80::1', 'fe80::1/128'],
    ['10.0.0.0/33', undefined],
    ['010.0.0.1', undefined],
    ['fe80::1%eth0', undefined],
    ['10.0.0.0/', undefined],
  ])('%s is the range %s', (text, expected) => expect(rangeOf(text)).toBe(expected));
});
