import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttp, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { until } from './fresh-storage';
import { startNode } from './nodes';
import { startSecrets } from './start-secrets';

const box = mkdtempSync(path.join(tmpdir(), 'audit-receivers-'));
afterAll(() => rmSync(box, { recursive: true }));
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
// biome-ignore lint/suspicious/noExplicitAny: lines of every kind
const parsed = (text: string): any[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** A receiver over TCP, or at a path. */
class StreamReceiver {
  text = '';
  private readonly open = new Set<Socket>();
  private readonly server: Server = createServer((socket) => {
    this.open.add(socket);
    socket
      .on('error', () => {})
      .on('data', (data) => {
        this.text += data.toString();
      });
  });
  port = 0;

  async start(at: number | string = this.port): Promise<this> {
    if (typeof at === 'string') this.server.listen(at);
    else this.server.listen(at, '127.0.0.1');
    await once(this.server, 'listening');
    if (typeof at === 'number') this.port = portOf(this.server);
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    this.open.clear();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }
}

/** An HTTP receiver that gives the answers set by a test. */
class PostReceiver {
  bodies: string[] = [];
  headers: NodeJS.Dict<string | string[]>[] = [];
  answer: (body: string, res: ServerResponse) => void = (_, res) => res.writeHead(204).end();
  private readonly server = createHttp((req, res) => {
    let body = '';
    req.on('data', (data) => {
      body += data;
    });
    req.on('end', () => {
      this.headers.push(req.headers);
      this.answer(body, res);
      if (res.statusCode < 300) this.bodies.push(body);
    });
  });

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }
  get uri(): string {
    return `http://127.0.0.1:${portOf(this.server)}/in`;
  }
  get lines() {
    return parsed(this.bodies.join(''));
  }
  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

describe('audit lines sent elsewhere by API', () => {
  const secrets = startSecrets({
    env: {
      SECRETS_AUDIT_FILE: path.join(box, 'here.log'),
      SECRETS_AUDIT_BY_API_DIRECTORY: box,
      SECRETS_AUDIT_BY_API_RECEIVERS: '127.0.0.1',
    },
  });
  const posts = new PostReceiver();
  beforeAll(() => posts.start());
  afterAll(() => posts.stop());
  afterEach(async () => {
    const names = Object.keys((await secrets.root.read('sys/audit').expect(200)).body.data);
    for (const name of names.filter((one) => one !== 'file/'))
      await secrets.root.delete(`sys/audit/${name}`).expect(204);
    posts.answer = (_, res) => res.writeHead(204).end();
  });
  const enable = (name: string, type: string, options: object) =>
    secrets.root.write(`sys/audit/${name}`, { type, options });
  const device = (name: string) => secrets.service.kernel.audit.devices.find(name)!;
  const ask = (name: string) => secrets.root.read(`cubbyhole/${name}`).expect(404);

  it('go to a socket over TCP, with the same hashes as in a file', async () => {
    const to = await new StreamReceiver().start(0);
    await enable('sock', 'socket', { address: `127.0.0.1:${to.port}`, prefix: '@a ' }).expect(204);
    await secrets.root.write('cubbyhole/sent', { colour: 'very-green' }).expect(204);
    const { hash } = (await secrets.root.write('sys/audit-hash/sock', { input: 'very-green' }).expect(200)).body.data;
    await until(() => to.text.includes('sys/audit-hash/sock'));
    const lines = parsed(to.text.replaceAll('@a ', ''));
    expect(lines[0]).toMatchObject({ type: 'enabled', device: 'sock/' });
    expect(lines.filter(({ request }) => request?.path === 'cubbyhole/sent')).toMatchObject([
      { type: 'request', request: { data: { colour: hash } } },
      { type: 'response', request: { data: { colour: hash } } },
    ]);
    expect(to.text).not.toContain('very-green');
    expect((await secrets.root.read('sys/audit').expect(200)).body.data['sock/']).toEqual({
      type: 'socket',
      description: '',
      local: false,
      path: 'sock/',
      options: { address: `127.0.0.1:${to.port}`, prefix: '@a ' },
    });
    await to.stop();
  });

  it('go to a socket at a path in the directory, and over UDP', async () => {
    const to = await new StreamReceiver().start(path.join(box, 'in.sock'));
    await enable('local', 'socket', { address: 'in.sock', socket_type: 'unix' }).expect(204);
    const datagrams: string[] = [];
    const udp = createSocket('udp4', (data) => datagrams.push(data.toString()));
    udp.unref().bind(0, '127.0.0.1');
    await once(udp, 'listening');
    await enable('udp', 'socket', { address: `127.0.0.1:${portOf(udp)}`, socket_type: 'udp' }).expect(204);
    await ask('either');
    await until(
      () => datagrams.length >= 3 && parsed(to.text).some(({ request }) => request?.path === 'cubbyhole/either'),
    );
    expect(datagrams.every((one) => parsed(one).length === 1)).toBe(true);
    udp.close();
    await to.stop();
  });

  it('are messages of RFC 5424 for syslog: counted in a stream, one in a datagram', async () => {
    const to = await new StreamReceiver().start(0);
    await enable('log', 'syslog', { address: `tcp://127.0.0.1:${to.port}`, facility: 'local3', tag: 'vault-a' }).expect(
      204,
    );
    await ask('logged');
    await until(() => to.text.includes('"response","auth"') && to.text.includes('cubbyhole/logged'));
    const messages: string[] = [];
    for (let rest = Buffer.from(to.text); rest.length > 0; ) {
      const [, digits = ''] = /^(\d+) /.exec(rest.toString()) ?? [];
      const from = digits.length + 1;
      messages.push(rest.subarray(from, from + Number(digits)).toString());
      rest = rest.subarray(from + Number(digits));
    }
    const form = /^<158>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ vault-a \d+ audit - (\{.*\})$/;
    expect(messages.every((one) => JSON.parse(form.exec(one)?.[1] ?? 'null'))).toBe(true);
    await to.stop();
  });

  it('are posted to a server whose headers cannot be read', async () => {
    const headers = JSON.stringify({ Authorization: ['Bearer of-the-receiver'] });
    await enable('posts', 'http', { uri: posts.uri, headers }).expect(204);
    await ask('posted');
    await until(() => posts.lines.filter(({ request }) => request?.path === 'cubbyhole/posted').length === 2);
    expect(posts.headers[0]).toMatchObject({
      authorization: 'Bearer of-the-receiver',
      'content-type': 'application/json',
    });
    const shown = (await secrets.root.read('sys/audit').expect(200)).text;
    expect(shown).toContain('"headers":"{\\"Authorization\\":[\\"(hidden)\\"]}"');
    const client = new pg.Client(secrets.database.url);
    await client.connect();
    const { rows } = await client.query("SELECT sealed FROM setting WHERE name = 'audit-receiver/posts/'");
    await client.end();
    expect(rows).toHaveLength(1);
    expect(shown + rows[0].sealed.toString('latin1') + posts.bodies.join('')).not.toContain('of-the-receiver');
  });

  it('wait while a receiver is down, without delaying requests', async () => {
    await enable('posts', 'http', { uri: posts.uri, write_timeout: '1s' }).expect(204);
    posts.answer = (_, res) => res.writeHead(503).end();
    for (let i = 0; i < 20; i++) await ask(`away-${i}`);
    await until(() => device('posts').backlog!.away);
    expect(device('posts').backlog!.waiting).toBeGreaterThan(0);
    expect(await secrets.service.ready()).toEqual({ ready: true, reasons: [] });
    posts.answer = (_, res) => res.writeHead(200).end('lies');
    await until(() => device('posts').backlog!.waiting === 0);
    const paths = posts.lines.flatMap(({ type, request }) => (type === 'response' ? request.path : []));
    const away = paths.filter((one) => one.startsWith('cubbyhole/away-'));
    expect(away).toEqual(Array.from({ length: 20 }, (_, i) => `cubbyhole/away-${i}`));
    expect(device('posts').backlog).toEqual({ away: false, waiting: 0, dropped: 0 });
  });

  it('are dropped one by one if a receiver accepts others, which is counted and reported', async () => {
    await enable('posts', 'http', { uri: posts.uri }).expect(204);
    posts.bodies = [];
    posts.answer = (body, res) => res.writeHead(body.includes('cubbyhole/poison') ? 413 : 200).end();
    await Promise.all(['a', 'poison', 'b'].map(ask));
    await ask('after');
    // Both lines of a request are written without the receiver, and the gap may be reported in one line or in two.
    const said = () => posts.lines.reduce((sum, { dropped = 0 }) => sum + dropped, 0);
    const after = () => posts.lines.filter(({ request }) => request?.path === 'cubbyhole/after').length;
    await until(() => after() === 2 && said() === 2);
    const heard = posts.lines.flatMap(({ type, request }) => (type === 'response' ? request.path : []));
    expect(heard).toEqual(expect.arrayContaining(['cubbyhole/a', 'cubbyhole/b', 'cubbyhole/after']));
    expect(device('posts').backlog).toMatchObject({ away: false, dropped: 2 });
  });

  it('need a receiver that accepts lines, at an allowed address', async () => {
    const refusal = async (type: string, options: object) =>
      (await enable('no', type, options).expect(400)).body.errors[0];
    const gone = await new StreamReceiver().start(0);
    await gone.stop();
    expect(await refusal('socket', { address: `127.0.0.1:${gone.port}` })).toBe(
      'audit device no/: the receiver accepts nothing (ECONNREFUSED)',
    );
    for (const [type, options] of [
      ['socket', { address: '127.0.0.2:9' }],
      ['socket', { address: '[::ffff:10.0.0.1]:9' }],
      ['socket', { address: '127.0.0.2:9', socket_type: 'udp' }],
      ['syslog', { address: 'udp://169.254.169.254:514' }],
      ['syslog', { address: 'tls://10.1.2.3:6514' }],
      ['http', { uri: 'http://127.0.0.2:9/' }],
      ['http', { uri: 'http://2130706434:9/' }],
    ] as const) {
      expect(await refusal(type, options)).toMatch(/is closed to calls from here|ECLOSEDADDRESS/);
    }
    posts.answer = (_, res) => res.writeHead(302, { location: '/else' }).end();
    expect(await refusal('http', { uri: posts.uri })).toContain('answered 302');
    for (const [type, options, said] of [
      ['socket', {}, 'address is required'],
      ['socket', { address: 'x' }, 'host:port'],
      ['socket', { address: '../x', socket_type: 'unix' }, 'file_path'],
      ['socket', { address: '127.0.0.1:9', socket_type: 'sctp' }, 'socket_type'],
      ['socket', { address: '127.0.0.1:9', write_timeout: '0' }, 'write_timeout'],
      ['socket', { address: '127.0.0.1:9', write_timeout: '1h' }, 'write_timeout'],
      ['socket', { address: '127.0.0.1:9', facility: 'AUTH' }, '"facility"'],
      ['socket', { address: '127.0.0.1:9', ca_cert: 'x' }, 'ca_cert'],
      ['syslog', {}, 'SECRETS_AUDIT_BY_API_RECEIVERS does not contain syslog'],
      ['syslog', { address: 'unix:///dev/log' }, 'address'],
      ['syslog', { address: 'udp://127.0.0.1:9', facility: 'LOCAL9' }, 'facility'],
      ['syslog', { address: 'udp://127.0.0.1:9', tag: 'a b' }, 'tag'],
      ['http', {}, 'uri is required'],
      ['http', { uri: 'ftp://127.0.0.1/' }, 'uri'],
      ['http', { uri: 'http://a:b@127.0.0.1/' }, 'uri'],
      ['http', { uri: posts.uri, headers: '[]' }, 'headers'],
      ['http', { uri: posts.uri, headers: '{"Host":["x"]}' }, 'headers'],
      ['http', { uri: posts.uri, headers: '{"A":["x\\ny"]}' }, 'headers'],
      ['http', { uri: posts.uri, headers: '{"A":["file:///etc/passwd"]}' }, 'headers'],
      ['http', { uri: posts.uri, batch_lines: '0' }, 'batch_lines'],
    ] as const) {
      expect(await refusal(type, options)).toContain(said);
    }
  });
});

describe('the only audit receiver', () => {
  const secrets = startSecrets({ env: { SECRETS_AUDIT_BY_API_RECEIVERS: '127.0.0.1' } });

  it('blocks requests on every node while it is down, until it is back', async () => {
    const node = await startNode(secrets.database.url, { SECRETS_AUDIT_BY_API_RECEIVERS: '127.0.0.1' });
    const to = await new StreamReceiver().start(0);
    try {
      await until(
        async () => (await node.ask('GET', 'sys/ha-status', secrets.rootToken)).body.data?.nodes.length === 2,
      );
      await secrets.root
        .write('sys/audit/only', { type: 'socket', options: { address: `127.0.0.1:${to.port}`, write_timeout: '1s' } })
        .expect(204);
      expect((await node.ask('GET', 'cubbyhole/of-node', secrets.rootToken)).status).toBe(404);
      await until(() => to.text.includes('cubbyhole/of-node'));
      await to.stop();
      await until(async () => (await secrets.root.read('cubbyhole/x')).status === 500);
      const { body } = await secrets.root.write('cubbyhole/unaudited', { a: 1 }).expect(500);
      expect(body.errors[0]).toContain('audit device only/: the receiver accepts nothing (ECONNREFUSED)');
      await until(async () => (await secrets.service.ready()).reasons.includes('no audit device takes lines'));
      await until(async () => (await node.ask('GET', 'cubbyhole/x', secrets.rootToken)).status === 500);
      await to.start();
      await until(async () => (await secrets.service.ready()).ready);
      await secrets.root.read('cubbyhole/unaudited').expect(404);
      await until(async () => (await node.ask('GET', 'cubbyhole/y', secrets.rootToken)).status === 404);
      await secrets.root.delete('sys/audit/only').expect(204);
    } finally {
      await to.stop();
      await node.stop();
    }
  });
});

describe('receivers of the configuration', () => {
  const env: Record<string, string> = {};
  const posts = new PostReceiver();
  const to = new StreamReceiver();
  beforeAll(async () => {
    await posts.start();
    await to.start(0);
    env.SECRETS_AUDIT_HTTP = posts.uri;
    env.SECRETS_AUDIT_HTTP_HEADERS = 'x-key=of%20ours';
    env.SECRETS_AUDIT_SYSLOG = `tcp://127.0.0.1:${to.port}?facility=USER&tag=here`;
  });
  const secrets = startSecrets({ env });
  afterAll(async () => {
    await posts.stop();
    await to.stop();
  });

  it('get the lines, may be anywhere, and cannot be disabled by API', async () => {
    await secrets.root.read('cubbyhole/configured').expect(404);
    await until(
      () => to.text.includes('cubbyhole/configured') && posts.bodies.join('').includes('cubbyhole/configured'),
    );
    expect(to.text).toMatch(/^\d+ <14>1 /);
    expect(posts.headers[0]).toMatchObject({ 'x-key': 'of ours' });
    const { body } = await secrets.root.read('sys/audit').expect(200);
    expect(Object.keys(body.data)).toEqual(['http/', 'syslog/']);
    await secrets.root.delete('sys/audit/http').expect(400);
  });
});

describe('receivers next to a file', () => {
  const secrets = startSecrets();
  const open = new Set<Socket>();
  const silent = createServer((socket) => void open.add(socket.on('error', () => {}).pause()));
  beforeAll(async () => {
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
  });
  afterAll(() => {
    for (const socket of open) socket.destroy();
    silent.close();
  });

  // Every way in which a receiver can be unavailable: its address, and how it recovers.
  const nothing = async () => {};
  const ways: Record<string, () => Promise<{ streams: number; posts: string; goAway(): Promise<void> }>> = {
    'are not there from the start': async () => ({ streams: 1, posts: 'http://127.0.0.1:1/', goAway: nothing }),
    'go away': async () => {
      const [stream, posts] = [new StreamReceiver(), new PostReceiver()];
      await Promise.all([stream.start(0), posts.start()]);
      const goAway = async () => void (await Promise.all([stream.stop(), posts.stop()]));
      return { streams: stream.port, posts: posts.uri, goAway };
    },
    'neither read nor answer': async () => {
      const port = portOf(silent);
      return { streams: port, posts: `http://127.0.0.1:${port}/`, goAway: nothing };
    },
  };

  it.each(Object.keys(ways))('end no process and no request if they %s', async (way) => {
    const { streams, posts, goAway } = await ways[way]!();
    const logFile = path.join(box, `${way}.log`);
    const log = openSync(logFile, 'w');
    const env = {
      SECRETS_LOG_LEVEL: 'warn',
      SECRETS_AUDIT_FILE: path.join(box, `${way}.audit`),
      SECRETS_AUDIT_SOCKET: `tcp://127.0.0.1:${streams}`,
      SECRETS_AUDIT_SYSLOG: `tcp://127.0.0.1:${streams}`,
      SECRETS_AUDIT_HTTP: posts,
    };
    const node = await startNode(secrets.database.url, env, { log });
    try {
      // Long lines, to fill the socket buffer of a receiver that does not read; they contain a hash of each value.
      const large = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`key-${n}`, 'x']));
      expect((await node.ask('POST', 'cubbyhole/large', secrets.rootToken, large)).status).toBe(204);
      await goAway();
      const missing = ['socket/', 'syslog/', 'http/'];
      const isAway = (name: string) => readFileSync(logFile, 'utf8').includes(`audit device ${name}: `);
      await until(async () => {
        const asked = Array.from({ length: 8 }, () => node.ask('GET', 'cubbyhole/large', secrets.rootToken));
        expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(8).fill(200));
        return missing.every(isAway);
      });
      expect((await node.ask('GET', 'cubbyhole/after', secrets.rootToken)).status).toBe(404);
    } finally {
      await node.stop();
      closeSync(log);
    }
  });

  it('are recommended in the log of a node that has neither a receiver nor a file', async () => {
    const warned = async (env: Record<string, string>) => {
      const logFile = path.join(box, 'start.log');
      const log = openSync(logFile, 'w');
      const node = await startNode(secrets.database.url, { SECRETS_LOG_LEVEL: 'warn', ...env }, { log });
      await node.stop();
      closeSync(log);
      return readFileSync(logFile, 'utf8').includes('no audit device');
    };
    expect(await warned({})).toBe(true);
    expect(await warned({ SECRETS_AUDIT_FILE: path.join(box, 'start.audit') })).toBe(false);
  });
});
