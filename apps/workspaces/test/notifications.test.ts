import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { deliverDue } from '../src/resources/runs/notifications/deliver';
import { Sender } from '../src/resources/runs/notifications/sender';
import { remindOfAutoDestroy, startAutoDestroy } from '../src/resources/runs/runs/auto-destroy';
import { configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { grant, member, team, teamToken } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

/** The messages that an address received. */
interface Got {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of three kinds of receivers
  readonly body: any;
}

/** An address that stores messages, and answers as a test wants. */
class Receiver {
  readonly got: Got[] = [];
  status = 200;
  /** Called before the next answer. */
  meanwhile: (() => Promise<unknown>) | undefined;
  private readonly server = http.createServer(async (request, answer) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    this.got.push({ path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) });
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    const elsewhere = this.status === 302 ? { location: `${this.address}/elsewhere` } : {};
    answer.writeHead(this.status, { 'content-type': 'application/json', ...elsewhere }).end('{"ok":true}');
  });

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const mails: { to: string[]; text: string }[] = [];
/** Addresses that the mail server does not know. */
const unknown = new Set<string>();
const mailServer = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onRcptTo({ address }, _session, done) {
    done(unknown.has(address) ? Object.assign(new Error('no such mailbox'), { responseCode: 550 }) : null);
  },
  onData(stream, session, done) {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      mails.push({ to, text: Buffer.concat(pieces).toString() });
      done();
    });
  },
});

describe('notifications', () => {
  const receiver = new Receiver();
  const env: Record<string, string> = { WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1' };
  beforeAll(async () => {
    await receiver.start();
    mailServer.listen(0, '127.0.0.1');
    await once(mailServer.server, 'listening');
    env.WORKSPACES_SMTP_URL = `smtp://127.0.0.1:${(mailServer.server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    receiver.stop();
    mailServer.close();
  });
  const workspaces = startWorkspaces({ keyed: true, env });
  const { admin } = workspaces;
  let counter = 0;
  let workspace = '';

  beforeEach(async () => {
    counter += 1;
    if (counter === 1) await workspaces.organization('acme');
    ({ id: workspace } = await workspaces.workspace('acme', `crane-${counter}`));
    await configured(workspaces, workspace);
    await workspaces.service.pool.query('DELETE FROM run');
    receiver.got.length = 0;
    receiver.status = 200;
    mails.length = 0;
  });

  const type = 'notification-configurations';
  const usual = () => ({
    name: 'told',
    'destination-type': 'generic',
    enabled: true,
    url: `${receiver.address}/hook`,
    triggers: ['run:created', 'run:completed', 'run:errored', 'run:needs_attention', 'run:applying', 'run:planning'],
  });
  const post = (attributes: object, relationships?: object, client = admin) =>
    client.post(`workspaces/${workspace}/${type}`, resource(type, { ...usual(), ...attributes }, relationships));
  const make = async (attributes: object = {}, relationships?: object) =>
    (await post(attributes, relationships).expect(201)).body.data;
  const deliver = () =>
    deliverDue(workspaces.service.db, new Sender(workspaces.service.env), workspaces.service.env.publicUrl);
  const refusal = async (attributes: object, relationships?: object) =>
    (await post(attributes, relationships).expect(422)).body.errors.map(
      (one: { source: { pointer: string }; detail: string }) => `${one.source.pointer} ${one.detail}`,
    );
  const triggersGot = () => receiver.got.map(({ body }) => body.notifications[0].trigger);

  it('are created, shown without their token, changed, listed and deleted', async () => {
    const made = await make({ token: 'hush', enabled: false, triggers: ['run:created', 'run:created'] });
    expect(made.id).toMatch(/^nc-/);
    expect(made.attributes).toEqual({
      name: 'told',
      'destination-type': 'generic',
      enabled: false,
      url: `${receiver.address}/hook`,
      token: null,
      triggers: ['run:created'],
      'email-addresses': [],
      'email-all-members': false,
      'delivery-responses': [],
      'created-at': expect.any(String),
      'updated-at': expect.any(String),
    });
    expect(made.relationships.subscribable.data).toEqual({ type: 'workspaces', id: workspace });
    expect(receiver.got).toEqual([]);
    const { rows } = await workspaces.service.pool.query('SELECT url, token FROM notification_configuration');
    expect(JSON.stringify(rows.map((row) => [String(row.url), String(row.token)]))).not.toMatch(/hush|hook/);
    const changed = await admin
      .patch(`${type}/${made.id}`, resource(type, { name: 'other', triggers: [] }))
      .expect(200);
    expect(changed.body.data.attributes).toMatchObject({ name: 'other', triggers: [], enabled: false });
    const listed = await admin.get(`workspaces/${workspace}/${type}`).expect(200);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([made.id]);
    await admin.delete(`${type}/${made.id}`).expect(204);
    await admin.get(`${type}/${made.id}`).expect(404);
    const trail = (await admin.get('organizations/acme/audit-events?page[size]=100').expect(200)).text;
    expect(trail).toContain('notification-configuration.delete');
    expect(trail).not.toMatch(/hush|\/hook/);
  });

  it('are tested before they are enabled, and refused if no destination accepts the test', async () => {
    const { attributes } = await make({ token: 'hush' });
    expect(attributes['delivery-responses']).toMatchObject([{ code: '200', body: '{"ok":true}', successful: 'true' }]);
    const [{ body, text, headers }] = receiver.got as [Got];
    expect(body).toMatchObject({
      payload_version: 1,
      run_id: null,
      notifications: [{ message: 'Verification of told', trigger: 'verification', run_status: null }],
    });
    const signature = createHmac('sha512', 'hush').update(text).digest('hex');
    expect(headers['x-tfe-notification-signature']).toBe(signature);

    receiver.status = 404;
    expect(await refusal({})).toEqual([
      expect.stringContaining('/data/attributes/url Url did not verify: it answered 404'),
    ]);
    receiver.status = 302;
    expect(await refusal({})).toEqual([expect.stringContaining('it answered 302')]);
    expect(receiver.got.every(({ path }) => path === '/hook')).toBe(true);
    const silent = await make({ enabled: false });
    receiver.status = 500;
    await admin.patch(`${type}/${silent.id}`, resource(type, { enabled: true })).expect(422);
    await admin.post(`${type}/${silent.id}/actions/verify`).expect(422);
    receiver.status = 204;
    const tried = await admin.post(`${type}/${silent.id}/actions/verify`).expect(200);
    const codes = tried.body.data.attributes['delivery-responses'].map((one: { code: string }) => one.code);
    expect(codes).toEqual(['204', '500']);
    receiver.status = 500;
    await admin.post(`${type}/${silent.id}/actions/enable`).expect(422);
    expect((await admin.get(`${type}/${silent.id}`).expect(200)).body.data.attributes.enabled).toBe(false);
    receiver.status = 204;
    for (const _ of ['off', 'on']) {
      receiver.got.length = 0;
      const { body: on } = await admin.post(`${type}/${silent.id}/actions/enable`).expect(200);
      expect(on.data.attributes.enabled).toBe(true);
      expect(triggersGot()).toEqual(['verification']);
    }
  });

  it('are refused if their settings contradict each other', async () => {
    expect(await refusal({ url: null })).toEqual([expect.stringContaining("/url Url can't be blank")]);
    expect(await refusal({ url: 'ftp://a.example' })).toEqual([expect.stringContaining('/data/attributes/url')]);
    expect(await refusal({ url: 'https://ada:secret@a.example' })).toEqual([expect.stringContaining('/url')]);
    expect(await refusal({ triggers: ['run:sneezed'] })).toEqual([expect.stringContaining('/triggers')]);
    expect(await refusal({ 'destination-type': 'pigeon' })).toEqual([expect.stringContaining('/destination-type')]);
    expect(await refusal({ 'destination-type': 'slack', token: 'x' })).toEqual([expect.stringContaining('/token')]);
    expect(await refusal({ 'email-addresses': ['ada@example.com'] })).toEqual([expect.stringContaining('/email')]);
    expect(await refusal({}, { subscribable: ref('workspaces', 'ws-other') })).toHaveLength(1);
    await make({ enabled: false }, { subscribable: ref('workspaces', workspace) });
  });

  it('are not sent into closed networks', async () => {
    for (const url of ['http://127.0.0.2/', 'http://[::1]/', 'http://169.254.169.254/latest', 'http://10.1.2.3:80/']) {
      expect(await refusal({ url })).toEqual([
        expect.stringContaining('a network that notifications may not be sent to'),
      ]);
    }
  });

  it('report the events of a run in order, once each, with their authors', async () => {
    await make();
    await make({ name: 'quiet', enabled: false });
    await make({ name: 'else', triggers: ['run:errored'] });
    receiver.got.length = 0;
    const run = (await startRun(admin, workspace, { message: 'More <cranes>' }).expect(201)).body.data;
    const worker = fakeWorker(workspaces);
    await worker.plan();
    await admin.post(`runs/${run.id}/actions/apply`).expect(202);
    await worker.apply();
    await deliver();
    expect(await deliver()).toBe(0);
    expect(triggersGot()).toEqual([
      'run:created',
      'run:planning',
      'run:needs_attention',
      'run:applying',
      'run:completed',
    ]);
    expect(receiver.got[0]!.body).toMatchObject({
      run_id: run.id,
      run_url: expect.stringContaining(`/app/acme/crane-${counter}/runs/${run.id}`),
      run_message: 'More <cranes>',
      run_created_by: 'admin',
      workspace_id: workspace,
      workspace_name: `crane-${counter}`,
      organization_name: 'acme',
      notifications: [{ message: 'Run Created', run_status: 'pending', run_updated_by: 'admin' }],
    });
    const after = receiver.got.length;
    await startRun(admin, workspace, { 'auto-apply': true }).expect(201);
    await worker.plan({ hasChanges: false });
    await startRun(admin, workspace, { 'auto-apply': true }).expect(201);
    await worker.plan({ outcome: 'errored' });
    await deliver();
    expect(
      triggersGot()
        .slice(after)
        .filter((one) => one === 'run:needs_attention'),
    ).toEqual([]);
    expect(
      triggersGot()
        .slice(after)
        .filter((one) => one === 'run:completed'),
    ).toHaveLength(1);
    expect(
      triggersGot()
        .slice(after)
        .filter((one) => one === 'run:errored'),
    ).toHaveLength(2);
  });

  it('of automatic destruction describe the workspace in the format of version 2: reminders and the result (WV.13)', async () => {
    const triggers = ['workspace:auto_destroy_reminder', 'workspace:auto_destroy_run_results'];
    const { id } = await make({ triggers });
    await make({ name: 'chat', 'destination-type': 'slack', triggers });
    await make({
      name: 'mail',
      'destination-type': 'email',
      url: null,
      'email-addresses': ['ada@example.com'],
      triggers,
    });
    receiver.got.length = 0;
    mails.length = 0;
    const { db, pool, env: around } = workspaces.service;
    await pool.query(
      `UPDATE workspace SET auto_destroy_at = now() + interval '30 hours', current_state_version_id = 'sv-none' WHERE id = $1`,
      [workspace],
    );
    const passed = (hours: number) =>
      pool.query(`ALTER TABLE workspace DISABLE TRIGGER workspace_auto_destroy;
        UPDATE workspace SET auto_destroy_due_at = auto_destroy_due_at - interval '${hours} hours';
        ALTER TABLE workspace ENABLE TRIGGER workspace_auto_destroy`);
    await passed(10);
    await remindOfAutoDestroy(db);
    await deliver();
    const body = (name: string) => receiver.got.find((one) => one.body.text || one.body.trigger === name)!.body;
    const details = { workspace_id: workspace, workspace_name: `crane-${counter}`, organization_name: 'acme' };
    expect(receiver.got.map((one) => one.body).find((one) => one.payload_version)).toEqual({
      payload_version: '2',
      notification_configuration_id: id,
      notification_configuration_url: `${around.publicUrl}/api/v2/notification-configurations/${id}`,
      trigger_scope: 'workspace',
      trigger: 'workspace:auto_destroy_reminder',
      message: 'Auto Destroy Reminder',
      details: { auto_destroy_at: expect.stringMatching(/Z$/), ...details },
    });
    expect(body('').text).toBe(`Auto Destroy Reminder: acme/crane-${counter}`);
    expect(mails[0]!.text).toContain('Destroyed at  20');
    await passed(21);
    receiver.got.length = 0;
    expect(await startAutoDestroy(db, around.keyring)).toBe(1);
    await fakeWorker(workspaces).plan({ outcome: 'errored', errorMessage: 'no such provider' });
    await deliver();
    const run = (await admin.get(`workspaces/${workspace}/runs`).expect(200)).body.data[0].id;
    expect(receiver.got.map((one) => one.body).find((one) => one.payload_version)).toMatchObject({
      trigger: 'workspace:auto_destroy_run_results',
      message: 'Auto Destroy Results: Run Errored',
      details: { run_id: run, run_status: 'errored', run_url: expect.stringContaining(run), ...details },
    });
  });

  it('of a project cover all its workspaces, including later ones', async () => {
    const { id: project } = (
      await admin.post('organizations/acme/projects', resource('projects', { name: `Quay ${counter}` }))
    ).body.data;
    const body = resource(type, { ...usual(), triggers: ['run:created'] });
    const made = (await admin.post(`projects/${project}/${type}`, body).expect(201)).body.data;
    expect(made.relationships.subscribable.data).toEqual({ type: 'projects', id: project });
    const inside = (
      await admin
        .post(
          'organizations/acme/workspaces',
          resource('workspaces', { name: `in-${counter}` }, { project: ref('projects', project) }),
        )
        .expect(201)
    ).body.data.id;
    await configured(workspaces, inside);
    receiver.got.length = 0;
    await startRun(admin, workspace).expect(201);
    await startRun(admin, inside).expect(201);
    await deliver();
    expect(receiver.got.map((one) => one.body.workspace_id)).toEqual([inside]);
  });

  it('that did not arrive are retried at growing intervals, without delaying others, and then given up', async () => {
    const lame = await make({ triggers: ['run:created'] });
    const other = await make({ url: `${receiver.address}/other`, triggers: ['run:created'] });
    receiver.got.length = 0;
    receiver.status = 503;
    await startRun(admin, workspace).expect(201);
    expect(await deliver()).toBe(2);
    expect(await deliver()).toBe(0);
    await admin.delete(`${type}/${other.id}`).expect(204);
    const waiting = async () =>
      (
        await workspaces.service.pool.query(
          `SELECT attempts, code, done_at IS NULL AS open, extract(epoch FROM due_at - now()) AS wait
             FROM notification_delivery WHERE configuration_id = $1 AND run_id IS NOT NULL`,
          [lame.id],
        )
      ).rows[0];
    expect(await waiting()).toMatchObject({ attempts: 1, code: '503', open: true });
    const due = () =>
      workspaces.service.pool.query("UPDATE notification_delivery SET due_at = now() - interval '1 second'");
    await due();
    await deliver();
    const second = await waiting();
    expect(Number(second.wait)).toBeGreaterThan(50);
    receiver.status = 200;
    await due();
    await deliver();
    expect(await waiting()).toMatchObject({ attempts: 3, code: '200', open: false });
    await due();
    expect(await deliver()).toBe(0);

    receiver.status = 500;
    await startRun(admin, workspace).expect(201);
    for (let tries = 0; tries < 12; tries++) {
      await due();
      expect(await deliver()).toBe(1);
    }
    await due();
    expect(await deliver()).toBe(0);
  });

  it('that another node has since claimed are left to that node, unless they have already arrived', async () => {
    const { id } = await make({ triggers: ['run:created'] });
    receiver.got.length = 0;
    await startRun(admin, workspace).expect(201);
    const query = async (text: string) => (await workspaces.service.pool.query(text, [id])).rows;
    const ofIt = 'WHERE configuration_id = $1 AND run_id IS NOT NULL';
    const sendWhileTaken = async (status: number) => {
      receiver.status = status;
      await query(`UPDATE notification_delivery SET due_at = now() - interval '1 second' ${ofIt}`);
      receiver.meanwhile = () =>
        query(`UPDATE notification_delivery SET attempts = attempts + 1, due_at = '2100-01-01Z' ${ofIt}`);
      expect(await deliver()).toBe(1);
      return (
        await query(
          `SELECT due_at > '2099-01-01' AS later, code, done_at IS NULL AS open FROM notification_delivery ${ofIt}`,
        )
      )[0];
    };
    expect(await sendWhileTaken(503)).toEqual({ later: true, code: null, open: true });
    expect(await sendWhileTaken(200)).toMatchObject({ code: '200', open: false });
  });

  it('are delivered once, even by several nodes', async () => {
    await make({ triggers: ['run:created'] });
    receiver.got.length = 0;
    await startRun(admin, workspace).expect(201);
    await Promise.all([deliver(), deliver(), deliver(), deliver()]);
    expect(receiver.got).toHaveLength(1);
  });

  it('use the format of their chat, and escape all strings', async () => {
    await make({ 'destination-type': 'slack', triggers: ['run:created'] });
    await make({ 'destination-type': 'microsoft-teams', url: `${receiver.address}/teams`, triggers: ['run:created'] });
    receiver.got.length = 0;
    await startRun(admin, workspace, { message: '<!channel> & <https://bad.example|click>\n*now*' }).expect(201);
    await deliver();
    const slack = receiver.got.find(({ path }) => path === '/hook')!;
    expect(slack.body.text).toBe(`Run Created: acme/crane-${counter}`);
    expect(slack.text).toContain('&lt;!channel&gt; &amp; &lt;https://bad.example|click&gt; *now*');
    const teams = receiver.got.find(({ path }) => path === '/teams')!;
    const [{ contentType, content }] = teams.body.attachments;
    expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(content).toMatchObject({ type: 'AdaptiveCard', actions: [{ type: 'Action.OpenUrl' }] });
  });

  it('go by mail to addresses and members, each separately, but not to people who are suspended, have left or have not joined yet', async () => {
    const ada = await workspaces.person(`ada-${counter}`);
    const users = { users: { data: [{ type: 'users', id: ada.id }] } };
    const attributes = { 'destination-type': 'email', url: null, triggers: ['run:created'] };
    expect(await refusal(attributes, users)).toEqual([expect.stringContaining('must be members')]);
    expect(await refusal(attributes)).toEqual([expect.stringContaining('it names no recipient')]);
    const teamId = await team(workspaces, 'acme', `mail-${counter}`);
    await workspaces.service.pool.query(
      `INSERT INTO membership (id, organization_id, user_id, status)
       SELECT 'ou-mail' || $2, o.id, $1, 'invited' FROM organization o WHERE o.name = 'acme'`,
      [ada.id, counter],
    );
    expect(teamId).toBeTruthy();
    const { id } = await make({ ...attributes, 'email-addresses': ['ops@example.com'] }, users);
    expect(mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
    mails.length = 0;
    await workspaces.service.pool.query(`UPDATE membership SET status = 'active' WHERE user_id = $1`, [ada.id]);
    await admin.post(`${type}/${id}/actions/verify`).expect(200);
    expect(mails.map(({ to }) => to).sort()).toEqual([[expect.stringContaining('ada')], ['ops@example.com']]);
    mails.length = 0;
    await admin.post(`admin/users/${ada.id}/actions/suspend`).expect(200);
    await admin.post(`${type}/${id}/actions/verify`).expect(200);
    expect(mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
    mails.length = 0;
    await admin.post(`admin/users/${ada.id}/actions/unsuspend`).expect(200);
    await workspaces.service.pool.query(`DELETE FROM membership WHERE user_id = $1`, [ada.id]);
    await startRun(admin, workspace, { message: 'a\r\nBcc: eve@example.com' }).expect(201);
    await deliver();
    expect(mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
    expect(mails[0]!.text).toContain(`Subject: Run Created: acme/crane-${counter}`);
    expect(mails[0]!.text).not.toMatch(/^Bcc:/m);
    const named = await admin.get(`${type}/${id}`).expect(200);
    expect(named.body.data.relationships.users.data).toHaveLength(1);
    const kept = await admin.patch(`${type}/${id}`, resource(type, { name: 'without people' })).expect(200);
    expect(kept.body.data.relationships.users.data).toEqual([]);
  });

  it('go by mail to invited people once they have joined, and are enabled before that', async () => {
    const grace = await workspaces.person(`grace-${counter}`);
    const users = { users: { data: [{ type: 'users', id: grace.id }] } };
    await workspaces.service.pool.query(
      `INSERT INTO membership (id, organization_id, user_id, status)
       SELECT 'ou-invited' || $2, o.id, $1, 'invited' FROM organization o WHERE o.name = 'acme'`,
      [grace.id, counter],
    );
    const { id, attributes } = await make({ 'destination-type': 'email', url: null }, users);
    expect(attributes.enabled).toBe(true);
    expect(mails).toEqual([]);
    const refused = await admin.post(`${type}/${id}/actions/verify`).expect(422);
    expect(refused.body.errors[0].detail).toContain('none of its recipients is a member at present');
    await workspaces.service.pool.query(`UPDATE membership SET status = 'active' WHERE user_id = $1`, [grace.id]);
    await admin.post(`${type}/${id}/actions/verify`).expect(200);
    expect(mails.map(({ to }) => to)).toEqual([[expect.stringContaining('grace')]]);
    mails.length = 0;
  });

  it('limit test mails per address and per configuration, for all callers together', async () => {
    const attributes = { 'destination-type': 'email', url: null, triggers: ['run:created'] };
    const { id } = await make({ ...attributes, 'email-addresses': ['eve@example.com'] });
    const verify = () => admin.post(`${type}/${id}/actions/verify`);
    await verify().expect(200);
    await verify().expect(200);
    const tooOften = expect.stringMatching(/^too many test emails were sent .*; try again in \d+ seconds$/);
    const soon = (await verify().expect(429)).body.errors[0].detail;
    expect(soon).toEqual(tooOften);
    expect(Number(/(\d+) seconds/.exec(soon)![1])).toBeLessThanOrEqual(60);
    const later = (seconds: number) =>
      workspaces.service.pool.query(`UPDATE mail_trial SET paid_until = paid_until - make_interval(secs => $1)`, [
        seconds,
      ]);
    await later(61);
    await verify().expect(200);
    await make({ ...attributes, 'email-addresses': ['Eve@example.com'] });
    expect(mails).toHaveLength(5);
    // The address has reached its limit, across all configurations; others in the same list get no mail, and are not
    // counted.
    const others = ['eve@EXAMPLE.com', 'bob@example.com'];
    const refused = await post({ ...attributes, 'email-addresses': others }).expect(429);
    expect(refused.body.errors[0].detail).toEqual(tooOften);
    expect(mails).toHaveLength(5);
    await later(720);
    await make({ ...attributes, 'email-addresses': others });
    expect(mails).toHaveLength(7);
    mails.length = 0;
  });

  it('are listed completely unless a page is requested', async () => {
    const { id } = await make({ enabled: false });
    const whole = await admin.get(`workspaces/${workspace}/${type}`).expect(200);
    expect(whole.body.data.map((one: { id: string }) => one.id)).toEqual([id]);
    expect(whole.body.meta?.pagination).toBeUndefined();
    const page = await admin.get(`workspaces/${workspace}/${type}?page[number]=2&page[size]=1`).expect(200);
    expect(page.body).toMatchObject({ data: [], meta: { pagination: { 'current-page': 2, 'total-count': 1 } } });
  });

  it('reach each address once, although the mail server refuses another for a while', async () => {
    const to = ['ops@example.com', 'gone@example.com', 'ada@example.com'];
    const attributes = { 'destination-type': 'email', url: null, triggers: ['run:created'], 'email-addresses': to };
    const { id } = await make(attributes);
    mails.length = 0;
    unknown.add('gone@example.com');
    await startRun(admin, workspace).expect(201);
    const again = async () => {
      await workspaces.service.pool.query("UPDATE notification_delivery SET due_at = now() - interval '1 second'");
      await deliver();
      return mails.map((mail) => mail.to[0]).sort();
    };
    expect(await again()).toEqual(['ada@example.com', 'ops@example.com']);
    const delivery = async () =>
      workspaces.service.db.prisma.notificationDelivery.findFirstOrThrow({
        where: { configurationId: id },
        orderBy: { createdAt: 'desc' },
      });
    expect(await delivery()).toMatchObject({ successful: false, body: expect.stringContaining('550 no such mailbox') });
    expect(await again()).toEqual(['ada@example.com', 'ops@example.com']);
    unknown.clear();
    expect(await again()).toEqual(['ada@example.com', 'gone@example.com', 'ops@example.com']);
    expect(await delivery()).toMatchObject({ successful: true, code: '250', body: expect.stringMatching(/^250/) });
    expect(await again()).toHaveLength(3);
  });

  it('are for people who may change the workspace, and hide their destination from everyone else', async () => {
    const { id } = await make();
    const reads = await team(workspaces, 'acme', `readers-${counter}`);
    await grant(workspaces, reads, workspace, 'read');
    const reader = await teamToken(workspaces, reads);
    await reader.get(`${type}/${id}`).expect(404);
    await reader.get(`workspaces/${workspace}/${type}`).expect(404);
    await reader.patch(`${type}/${id}`, resource(type, { name: 'x' })).expect(404);
    await reader.post(`${type}/${id}/actions/verify`).expect(404);
    await reader.delete(`${type}/${id}`).expect(404);
    await post({}, undefined, reader).expect(404);
    const stranger = await workspaces.person(`stranger-${counter}`);
    await stranger.get(`${type}/${id}`).expect(404);
    await stranger.delete(`${type}/${id}`).expect(404);
  });

  describe('of teams', () => {
    const bulk = (ids: readonly string[], client = admin, inputs: object = { subject: 'Pin it', message: 'Use 1.2' }) =>
      client.post('organizations/acme/explorer/bulk-actions', {
        data: { attributes: { action_type: 'change_requests', action_inputs: inputs, target_ids: ids } },
      });
    const ofTeam = (id: string, attributes: object = {}, client = admin, relationships?: object) =>
      client.post(
        `teams/${id}/${type}`,
        resource(type, { ...usual(), triggers: ['change_request:created'], ...attributes }, relationships),
      );
    const told = () => receiver.got.filter(({ body }) => body.trigger === 'change_request:created');
    const requests = async (client = admin) =>
      (await client.get(`workspaces/${workspace}/change-requests`).expect(200)).body.data;

    it('report change requests to teams that may read the workspace, and to no others', async () => {
      const names = ['granted', 'everywhere', 'elsewhere', 'nothing'].map((name) => `${name}-${counter}`);
      const [granted, everywhere, elsewhere, nothing] = await Promise.all(
        names.map((name, i) => team(workspaces, 'acme', name, i === 1 ? ['read-workspaces'] : [])),
      );
      await grant(workspaces, granted!, workspace, 'read');
      const { id: other } = await workspaces.workspace('acme', `other-${counter}`);
      await grant(workspaces, elsewhere!, other, 'admin');
      for (const id of [granted, everywhere, elsewhere, nothing]) {
        await ofTeam(id!, { name: id, url: `${receiver.address}/${id}` }).expect(201);
      }
      receiver.got.length = 0;
      await bulk([workspace]).expect(201);
      await deliver();
      expect(
        told()
          .map(({ path }) => path.slice(1))
          .sort(),
      ).toEqual([granted, everywhere].sort());
      const [made] = await requests();
      expect(told()[0]!.body).toMatchObject({
        payload_version: '2',
        trigger_scope: 'change_request',
        message: 'Change Request Created',
        details: { change_request_id: made.id, change_request_subject: 'Pin it', workspace_id: workspace },
      });
      expect(made).toMatchObject({
        type: 'workspace_change_requests',
        attributes: { subject: 'Pin it', message: 'Use 1.2', 'archived-at': null },
        relationships: { workspace: { data: { id: workspace } } },
      });
    });

    it('do not send waiting messages to a team that may no longer read the workspace', async () => {
      const id = await team(workspaces, 'acme', `former-${counter}`);
      await grant(workspaces, id, workspace, 'read');
      await ofTeam(id, { url: `${receiver.address}/${id}` }).expect(201);
      await bulk([workspace]).expect(201);
      await workspaces.service.pool.query('DELETE FROM team_workspace WHERE team_id = $1', [id]);
      receiver.got.length = 0;
      await deliver();
      expect(told().filter(({ path }) => path === `/${id}`)).toEqual([]);
      const waiting = { configuration: { teamId: id }, doneAt: null };
      expect(await workspaces.service.db.prisma.notificationDelivery.count({ where: waiting })).toBe(0);
    });

    it('have separate triggers, and are sent to members of the team', async () => {
      const id = await team(workspaces, 'acme', `own-${counter}`);
      const { body } = await ofTeam(id, { triggers: ['run:created'] }).expect(422);
      expect(body.errors[0].source.pointer).toBe('/data/attributes/triggers');
      expect(await refusal({ triggers: ['change_request:created'] })).toEqual([
        '/data/attributes/triggers Triggers may hold change_request:created only for teams',
      ]);
      const subject = { subscribable: { data: { type: 'teams', id } } };
      expect((await ofTeam(id, {}, admin, subject).expect(201)).body.data.relationships).toMatchObject(subject);
      await ofTeam(id, {}, admin, { subscribable: { data: { type: 'teams', id: 'team-other' } } }).expect(422);
      const mail = { 'destination-type': 'email', url: null, enabled: false };
      const users = (person: string) => ({ users: { data: [{ type: 'users', id: person }] } });
      const [inside, outside] = [await member(workspaces, 'acme', [id]), await member(workspaces, 'acme')];
      await ofTeam(id, mail, admin, users(outside.id)).expect(422);
      const { body: mailed } = await ofTeam(id, mail, admin, users(inside.id)).expect(201);
      expect(mailed.data.relationships.users).toEqual(users(inside.id).users);
    });

    it('are managed only by callers who manage the team', async () => {
      const id = await team(workspaces, 'acme', `managed-${counter}`);
      const { body } = await ofTeam(id).expect(201);
      const manager = await teamToken(
        workspaces,
        await team(workspaces, 'acme', `managers-${counter}`, ['manage-teams']),
      );
      await admin.patch(`teams/${id}`, resource('teams', { visibility: 'organization' })).expect(200);
      await manager.get(`${type}/${body.data.id}`).expect(200);
      const inside = await member(workspaces, 'acme', [id]);
      const stranger = await workspaces.person(`outside-${counter}`);
      for (const client of [inside, stranger]) {
        await client.get(`${type}/${body.data.id}`).expect(404);
        await client.get(`teams/${id}/${type}`).expect(404);
        await ofTeam(id, {}, client).expect(404);
        await client.delete(`${type}/${body.data.id}`).expect(404);
      }
      await admin.delete(`teams/${id}`).expect(204);
      await admin.get(`${type}/${body.data.id}`).expect(404);
    });

    it('report change requests, which are created for all given workspaces or none, by administrators of each', async () => {
      const { id: other } = await workspaces.workspace('acme', `second-${counter}`);
      const some = await team(workspaces, 'acme', `admins-${counter}`);
      await grant(workspaces, some, workspace, 'admin');
      const client = await teamToken(workspaces, some);
      await bulk([workspace, other], client).expect(422);
      await grant(workspaces, some, other, 'read');
      await bulk([workspace, other], client).expect(422);
      await bulk([workspace, 'ws-none'], client).expect(422);
      expect(await requests()).toEqual([]);
      await workspaces.organization(`theirs-${counter}`);
      const foreign = await workspaces.workspace(`theirs-${counter}`, 'web');
      await bulk([foreign.id]).expect(422);
      for (const inputs of [
        { subject: '', message: 'x' },
        { subject: 'x' },
        { subject: 'x', message: 'x'.repeat(4001) },
      ]) {
        await bulk([workspace], client, inputs).expect(422);
      }
      await bulk(Array.from({ length: 101 }, (_, i) => `ws-${i}`)).expect(422);
      await bulk([workspace, workspace], client).expect(201);
      expect(await requests(client)).toHaveLength(1);
    });

    it('report change requests, which can be archived only once; a workspace has at most a hundred open ones', async () => {
      await bulk([workspace]).expect(201);
      const [{ id }] = await requests();
      const path = `workspaces/change-requests/${id}`;
      const reads = await team(workspaces, 'acme', `archivists-${counter}`);
      await grant(workspaces, reads, workspace, 'read');
      const reader = await teamToken(workspaces, reads);
      await reader.get(path).expect(200);
      await reader.post(path).expect(404);
      await (await workspaces.person(`outsider-${counter}`)).get(path).expect(404);
      const newer = `change-requests/${id}`;
      for (const other of [newer, `${newer}/actions/archive`]) {
        expect((await reader.get(other).expect(200)).body.data.attributes['archived-at']).toBeNull();
      }
      await reader.post(`${newer}/actions/archive`).expect(404);
      const archived = await Promise.all([
        admin.post(path).expect(200),
        admin.post(`${newer}/actions/archive`).expect(200),
      ]);
      const [first, second] = archived.map(({ body }) => body.data.attributes['archived-at']);
      expect(first).toEqual(expect.any(String));
      expect(second).toBe(first);
      const { body: trail } = await admin.get(`organizations/acme/audit-events?filter[target]=${id}`).expect(200);
      const actions = trail.data.map((event: { attributes: { action: string } }) => event.attributes.action);
      expect(actions.filter((action: string) => action !== 'request.refuse')).toEqual([
        'change-request.archive',
        'change-request.create',
      ]);
      await workspaces.service.pool.query(
        `INSERT INTO change_request (id, workspace_id, subject, message, created_by_type, created_by_id)
         SELECT 'wscr-' || n || $1, $1, 's', 'm', 'users', 'u' FROM generate_series(1, 98) n`,
        [workspace],
      );
      const statuses = (await Promise.all([1, 2, 3, 4].map(() => bulk([workspace])))).map(({ status }) => status);
      expect(statuses.sort()).toEqual([201, 201, 422, 422]);
    });
  });

  it('are limited to twenty per workspace', async () => {
    const made = Array.from({ length: 22 }, (_, i) => post({ name: `n${i}`, enabled: false }));
    const statuses = (await Promise.all(made)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(20);
    expect(statuses.filter((status) => status === 422)).toHaveLength(2);
  });
});
