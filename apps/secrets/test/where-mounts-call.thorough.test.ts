import diagnostics from 'node:diagnostics_channel';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Reach } from '@keystead/outside';
import { examples } from './at-once-examples';
import { senderTo, worldOf } from './at-once-world';
import { startSecrets } from './start-secrets';
import { everyVisit, type Visit } from './visits';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Json = any;

const canaries = {
  SCHEDULER_TOKEN: 'canary-of-the-scheduler',
  CLOUDONE_CLIENT_SECRET: 'canary-of-cloudone',
  CLOUDTWO_SECRET_KEY: 'canary-of-cloudtwo',
};

/** Receives all requests to an address, and answers them with an empty object. */
function listening() {
  const heard: string[] = [];
  const server = net.createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      heard.push(bytes.toString('latin1'));
      const head =
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n';
      socket.end(`${head}{}`);
    });
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  return { heard, address: () => `http://127.0.0.1:${(server.address() as net.AddressInfo).port}` };
}

const isAddress = (name: string): boolean => /address|url|host|endpoint|server/.test(name);
const jsonOf = (field: Json): Json => {
  for (let at = field; at; at = at.def?.innerType) {
    const json = at.meta?.()?.json;
    if (json) return json;
  }
  return {};
};
const shapeOf = ({ operation }: Visit): [string, Json][] =>
  Object.entries<Json>(operation.input?.shape ?? {}).map(([name, field]) => [name, jsonOf(field)]);

// A caller who may configure a mount chooses the addresses that it calls, but must not get credentials that the service
// has from its environment or the cloud.
describe('mounts configured to call an address', () => {
  const theirs = listening();
  const ours = listening();
  const env: Record<string, string> = { ...canaries, CLOUDTWO_ACCESS_KEY: 'AKIA' };
  beforeAll(() => {
    env.SCHEDULER_ADDR = ours.address();
  });
  const secrets = startSecrets({ env });
  const send = senderTo(secrets);
  const world = worldOf(secrets, send);

  const exampleOf = async ({ verb, declared, name }: Visit): Promise<Json> => {
    const mount = name
      .split(' ')[1]!
      .replace(/^auth\//, '')
      .split('/')[0]!;
    const making = examples[`${verb} ${mount}/${declared.pattern}`];
    return typeof making === 'function' ? ((await making(world)).body?.(0) as Json) : undefined;
  };

  /** Configures every kind of mount to call these addresses, and uses it. Returns the accepted fields. */
  const callFromMounts = async (urls: readonly string[]): Promise<string[]> => {
    const visits = everyVisit(secrets).filter(({ at }) => !/^(sys|identity|cubbyhole|auth\/token)\//.test(at));
    const writes = visits.filter(({ verb }) => verb === 'write');
    const write = (at: string, body: Json) => send('POST', at, secrets.rootToken, body);
    for (const visit of writes) {
      const body = await exampleOf(visit);
      if (body !== undefined) await write(visit.at, body);
    }
    const led: string[] = [];
    for (const visit of writes) {
      const shape = shapeOf(visit);
      const given = { ...(await exampleOf(visit)) };
      // Values from the request belong to the caller.
      for (const [name, { format }] of shape) if (format === 'password') delete given[name];
      for (const [name] of shape.filter(([one, { type }]) => type === 'string' && isAddress(one))) {
        for (const url of urls) {
          await send('DELETE', visit.at, secrets.rootToken);
          const { status } = await write(visit.at, { ...given, [name]: url });
          if (status < 300) led.push(`${visit.name} ${name}`);
          if (shape.some(([one]) => one === 'verify')) await write(visit.at, { ...given, [name]: url, verify: true });
          const below = visit.at.slice(0, visit.at.indexOf(visit.declared.pattern));
          for (const used of visits.filter(({ at, verb }) => at.startsWith(below) && verb !== 'delete')) {
            const texts = shapeOf(used).filter(([, { type }]) => type === 'string');
            const body = Object.fromEntries(texts.map(([field]) => [field, 'visited']));
            if (used.verb === 'write' && typeof (await exampleOf(used)) !== 'object') await write(used.at, body);
            else if (used.verb === 'read') await send('GET', used.at, secrets.rootToken);
          }
        }
      }
    }
    return led;
  };

  it('send no credentials from the environment to addresses that it does not name', async () => {
    const led = await callFromMounts([theirs.address(), theirs.address().replace('http:', 'ldap:')]);
    const told = Object.entries(canaries).flatMap(([name, canary]) =>
      theirs.heard.filter((text) => text.includes(canary)).map((text) => `${name}: ${text.split('\r\n', 1)[0]}`),
    );
    expect(told).toEqual([]);
    expect(led.length).toBeGreaterThan(5);
    expect(theirs.heard.length).toBeGreaterThan(5);
  });

  it('reach no cloud metadata address, however it is written', async () => {
    const tried: string[] = [];
    const watch = (message: unknown) => {
      const { socket } = message as { socket: net.Socket };
      socket.on('connectionAttempt', (ip: string) => tried.push(ip));
    };
    diagnostics.subscribe('net.client.socket', watch);
    try {
      // In IPv6 form, and as a decimal number that only the resolver understands.
      const led = await callFromMounts(['http://[::ffff:a9fe:a9fe]', 'ldap://2852039166']);
      expect(led.length).toBeGreaterThan(5);
    } finally {
      diagnostics.unsubscribe('net.client.socket', watch);
    }
    const open = new Reach(['0.0.0.0/0', '::/0']);
    expect(tried.filter((ip) => net.isIP(ip) !== 0 && !open.allows(ip))).toEqual([]);
    expect(tried).toContain('127.0.0.1');
  });

  it('send the token of the environment to its address, also if a mount names the same one', async () => {
    for (const more of [{}, { address: `${ours.address()}/` }]) {
      await secrets.root.delete('scheduler/config/access').expect(204);
      ours.heard.length = 0;
      await secrets.root.write('scheduler/config/access', { ...more, verify: true }).expect(400);
      expect(ours.heard.join()).toContain(canaries.SCHEDULER_TOKEN);
    }
  });
});
