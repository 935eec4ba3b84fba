import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { announced, archiveOf } from './configurations';
import { grant, member, team } from './members';
import { type Client, startWorkspaces } from './start-workspaces';

describe('requests whose body arrives late', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const sockets: Socket[] = [];
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
  });
  let workspace = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    workspace = (await workspaces.workspace('acme', 'late')).id;
  });

  /** Sends the head of a patch; `end` sends its body, and returns the status. */
  const begin = async ({ token }: Client) => {
    const socket = connect((workspaces.server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    const status = new Promise<string>((resolve) => {
      socket.once('data', (bytes) => resolve(bytes.toString('latin1', 9, 12)));
    });
    const body = JSON.stringify({ data: { type: 'workspaces', attributes: { description: 'late' } } });
    socket.write(
      `PATCH /api/v2/workspaces/${workspace} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/vnd.api+json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
    );
    await sleep(100);
    return { end: () => (socket.write(body.slice(9)), status) };
  };
  const administrator = async (name: string) => {
    const id = await team(workspaces, 'acme', name);
    const given = await grant(workspaces, id, workspace, 'admin');
    return { team: id, given, one: await member(workspaces, 'acme', [id]) };
  };

  it('are carried out if nothing has changed in the meantime', async () => {
    const { one } = await administrator('remaining');
    expect(await (await begin(one)).end()).toBe('200');
  });

  it('are refused if their caller has lost the right in the meantime', async () => {
    const { one, team: id } = await administrator('leaving');
    await one.get(`workspaces/${workspace}`).expect(200);
    const late = await begin(one);
    await admin.delete(`teams/${id}`).expect(204);
    expect(await late.end()).toBe('404');
  });

  it('are refused if their token was revoked in the meantime', async () => {
    const { one } = await administrator('revoked');
    const late = await begin(one);
    const { count } = await workspaces.service.db.prisma.token.deleteMany({ where: { userId: one.id } });
    expect(count).toBe(1);
    expect(await late.end()).toBe('401');
  });

  it('leave no place taken if their sender leaves while it waits for the place of a large body', async () => {
    const { token } = await workspaces.person('large');
    const above = 2 * 1024 * 1024;
    const head = (framing: string) =>
      `POST /api/v2/workspaces/${workspace}/state-versions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/vnd.api+json\r\n${framing}\r\n\r\n`;
    const send = (text: string) => {
      const socket = connect((workspaces.server.address() as AddressInfo).port, '127.0.0.1');
      sockets.push(socket);
      socket.write(text);
      return socket;
    };
    const { largeUploads } = workspaces.service.env;
    const waiting = async (count: number) => {
      while (largeUploads.waiting !== count) await sleep(20);
    };
    const inside = [1, 2].map(() => send(`${head(`Content-Length: ${above + 100}`)}{`));
    await sleep(100);
    const length = above + 50;
    const line = [1, 2].map(() =>
      send(`${head('Transfer-Encoding: chunked')}${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`),
    );
    await waiting(2);
    for (const socket of line) socket.destroy();
    await waiting(0);
    for (const socket of inside) socket.destroy();
    const places = [1, 2, 3].map(() => largeUploads.place());
    for (const place of places) await place.enter();
    for (const place of places) place.leave();
  });

  const refusals = (actorId: string) =>
    workspaces.service.db.prisma.auditEvent.findMany({
      where: { actorId, action: { endsWith: '.refuse' } },
      select: { action: true },
    });

  it('are refused for a link whose holder has lost the right in the meantime', async () => {
    const { one, team: id } = await administrator('uploading');
    const configuration = await announced(one, workspace);
    const { pathname, search } = new URL(configuration.attributes['upload-url']);
    const bytes = await archiveOf();
    const socket = connect((workspaces.server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    const answer = new Promise<string>((resolve) => {
      socket.once('data', (text) => resolve(text.toString('latin1', 9, 12)));
    });
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes.length}\r\n\r\n`);
    socket.write(bytes.subarray(0, 9));
    await sleep(100);
    await admin.delete(`teams/${id}`).expect(204);
    socket.write(bytes.subarray(9));
    expect(await answer).toBe('404');
    const { body } = await admin.get(`configuration-versions/${configuration.id}`).expect(200);
    expect(body.data.attributes.status).toBe('pending');
    expect(await refusals(one.id)).toEqual([{ action: 'link.refuse' }]);
  });

  it('are recorded once if the right was lost while the request waited for its turn', async () => {
    const { one, team: id } = await administrator('waiting');
    let open = (): void => undefined;
    const { db } = workspaces.service;
    const turn = db.mutex.run(`/workspaces/${workspace.toLowerCase()}`, () => new Promise<void>((end) => (open = end)));
    const waiting = one.delete(`workspaces/${workspace}`).then(({ status }) => status);
    await sleep(100);
    await admin.delete(`teams/${id}`).expect(204);
    open();
    await turn;
    expect(await waiting).toBe(404);
    expect(await refusals(one.id)).toEqual([{ action: 'request.refuse' }]);
  });
});
