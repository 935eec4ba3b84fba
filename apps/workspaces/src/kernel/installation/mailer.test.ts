import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { Mailer } from './mailer';

const mail = { subject: 'Run Created', text: 'of a test' };
const trusted = `tls.ca=${encodeURIComponent(testCertificate.cert)}`;
const password = 'canary word';

describe('a mail server', () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  /** A real server, which stores the mails and how they were sent. */
  const serve = async (options: SMTPServerOptions = {}) => {
    const got: { to: string[]; secure: boolean; user: string; text: string }[] = [];
    const logins: string[] = [];
    const sockets: Socket[] = [];
    const server = new SMTPServer({
      ...testCertificate,
      onAuth({ username = '', password: given }, _session, done) {
        logins.push(`${username}:${given}`);
        if (given === password) done(null, { user: username });
        else done(new Error('no such account'));
      },
      onData(stream, session, done) {
        const pieces: Buffer[] = [];
        stream.on('data', (piece: Buffer) => pieces.push(piece));
        stream.on('end', () => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          got.push({
            to,
            secure: session.secure,
            user: String(session.user ?? ''),
            text: Buffer.concat(pieces).toString(),
          });
          done();
        });
      },
      ...options,
    });
    // A client that disconnects is not a fault.
    server.on('error', () => undefined);
    server.server.on('connection', (socket: Socket) => void sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    closing.push(() => server.close());
    return { got, logins, sockets, port: (server.server.address() as AddressInfo).port };
  };
  const mailer = (
    port: number,
    query = '',
    { scheme = 'smtp', user = 'grace', given = password, timeoutMs = 5000 } = {},
  ) => {
    const login = user === '' ? '' : `${user}:${encodeURIComponent(given)}@`;
    const made = new Mailer(`${scheme}://${login}127.0.0.1:${port}?${query}`, 'keystead@example.com', timeoutMs);
    closing.push(() => made.close());
    return made;
  };

  it.each([
    ['over STARTTLS', 'smtp', {}],
    ['over TLS from the start', 'smtps', { secure: true }],
  ])('is logged in to %s, and receives one mail for each address', async (_, scheme, options) => {
    const { got, logins, port } = await serve(options);
    const to = ['ada@example.com', 'ops@example.com'];
    const { accepted: taken, reply: said, problem } = await mailer(port, trusted, { scheme }).send(to, mail);
    expect({ taken, problem }).toEqual({ taken: to, problem: undefined });
    expect(said).toMatch(/^250/);
    expect(got.map(({ to: one, secure, user }) => ({ one, secure, user }))).toEqual(
      to.map((address) => ({ one: [address], secure: true, user: 'grace' })),
    );
    expect(got[0]!.text).toContain('Subject: Run Created');
    expect(new Set(logins)).toEqual(new Set([`grace:${password}`]));
  });

  it('gets no password if it cannot prove its identity or has no STARTTLS, unless the settings allow it', async () => {
    const unknown = await serve();
    expect((await mailer(unknown.port).send(['ada@example.com'], mail)).problem).toMatch(/self.signed/i);
    const plain = await serve({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    const { problem } = await mailer(plain.port).send(['ada@example.com'], mail);
    expect(problem).toMatch(/TLS/);
    expect([unknown.logins, plain.logins, unknown.got, plain.got]).toEqual([[], [], [], []]);
    expect((await mailer(plain.port, 'requireTLS=false').send(['ada@example.com'], mail)).problem).toBeUndefined();
    expect(plain.logins).toEqual([`grace:${password}`]);
    const open = await serve({ disabledCommands: ['STARTTLS', 'AUTH'], authOptional: true });
    expect((await mailer(open.port, '', { user: '' }).send(['ada@example.com'], mail)).accepted).toHaveLength(1);
  });

  it('that refuses the login is called only once, and the error contains no password', async () => {
    const { got, logins, port } = await serve();
    const to = ['ada@example.com', 'ops@example.com'];
    const { accepted: taken, problem } = await mailer(port, trusted, { given: 'wrong canary' }).send(to, mail);
    expect(taken).toEqual([]);
    expect(problem).toContain('535');
    expect(problem).not.toContain('canary');
    expect([got, logins]).toEqual([[], ['grace:wrong canary']]);
  });

  it('that refuses one address, or one mail, accepts the others', async () => {
    const { got, port } = await serve({
      onRcptTo({ address }, _session, done) {
        if (address.startsWith('gone')) done(Object.assign(new Error('no such mailbox'), { responseCode: 550 }));
        else if (address.startsWith('later')) done(Object.assign(new Error('try again'), { responseCode: 450 }));
        else done();
      },
    });
    const to = ['gone@example.com', 'ada@example.com', 'later@example.com', 'ops@example.com'];
    const { accepted: taken, problem } = await mailer(port, trusted).send(to, mail);
    expect(taken).toEqual(['ada@example.com', 'ops@example.com']);
    expect(problem).toContain('550 no such mailbox');
    expect(got).toHaveLength(2);
  });

  it('that is silent, slow, interrupted or absent is given up, and tried again for the next mail', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const quick = { timeoutMs: 500 };
    const ask = (port: number, query = trusted) => mailer(port, query, quick).send(['ada@example.com', 'b@b.co'], mail);
    expect((await ask((silent.address() as AddressInfo).port)).problem).toMatch(/greeting|timeout/i);
    const slow = await serve({ onData: (stream) => void stream.resume() });
    expect((await ask(slow.port)).problem).toMatch(/timeout/i);
    let dies = true;
    const dying: Awaited<ReturnType<typeof serve>> = await serve({
      onRcptTo(_address, _session, done) {
        if (!dies) return done();
        dies = false;
        for (const socket of dying.sockets) socket.destroy();
      },
    });
    const first = await mailer(dying.port, trusted).send(['ada@example.com'], mail);
    expect(first.accepted).toEqual([]);
    expect(first.problem).toMatch(/close|reset|hang/i);
    expect((await mailer(dying.port, trusted).send(['ada@example.com'], mail)).accepted).toHaveLength(1);
    expect((await ask(1)).problem).toContain('ECONNREFUSED');
  });
});
