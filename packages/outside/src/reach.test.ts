import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { outsideCall, ownMachineToo, Reach, usualReach } from './index';

describe('the limit on addresses that may be called', () => {
  it.each([
    ['203.0.114.9', true],
    ['2a00:1450::1', true],
    ['127.0.0.1', false],
    ['10.1.2.3', false],
    ['::1', false],
    ['::ffff:10.0.0.1', false],
    ['::ffff:a00:1', false],
    ['::FFFF:A00:1', false],
    ['0:0:0:0:0:ffff:a00:1', false],
    ['::ffff:203.0.114.9', true],
    ['::ffff:cb00:7209', true],
    ['169.254.169.254', false],
    ['fd00:ec2::254', false],
    ['64:ff9b::a00:1', false],
    ['64:ff9b::a9fe:a9fe', false],
    ['no address', false],
  ])('%s: %s', (address, allowed) => {
    expect(new Reach().allows(address)).toBe(allowed);
  });

  it('opens the named ranges, but never metadata services', () => {
    const reach = new Reach(['10.0.0.0/8', '169.254.0.0/16', '0.0.0.0/0']);
    expect([reach.allows('10.1.2.3'), reach.allows('169.254.169.254'), reach.allows('::ffff:a00:1')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('allows everything except metadata services, and those only if requested', () => {
    const addresses = [
      '127.0.0.1',
      '10.1.2.3',
      '2a00:1450::1',
      '169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      'fd00:ec2::254',
    ];
    expect(addresses.filter((at) => usualReach.allows(at))).toEqual(addresses.slice(0, 3));
    expect(addresses.filter((at) => ownMachineToo.allows(at))).toEqual(addresses);
  });

  it('opens a single address', () => {
    const reach = new Reach(['10.1.2.3', 'fc00::1', 'fc00:1::/32']);
    const addresses = ['10.1.2.3', '10.1.2.4', 'fc00::1', 'fc00::2', 'fc00:1::5', 'fc00:2::5'];
    expect(addresses.map((at) => reach.allows(at))).toEqual([true, false, true, false, true, false]);
  });

  it('can be limited to the named ranges', () => {
    const reach = new Reach(['203.0.114.0/24'], false);
    expect(['203.0.114.9', '203.0.115.9', '10.0.0.1'].map((at) => reach.allows(at))).toEqual([true, false, false]);
  });

  it('resolves names, and fails if any address is closed', async () => {
    const found = (name: string, reach: Reach, options: object) =>
      new Promise((resolve) => reach.lookup(name, options, (...answer) => resolve(answer)));
    const open = new Reach(['127.0.0.0/8', '::1/128']);
    expect(await found('127.0.0.1', open, {})).toEqual([null, '127.0.0.1', 4]);
    expect(await found('::1', open, {})).toEqual([null, '::1', 6]);
    expect(await found('127.0.0.1', open, { all: true })).toEqual([null, [{ address: '127.0.0.1', family: 4 }]]);
    for (const options of [{}, { all: true }]) {
      const [failure, none] = (await found('127.0.0.1', new Reach(), options)) as [Error, unknown];
      expect(failure).toMatchObject({ name: 'ClosedAddress', code: 'ECLOSEDADDRESS' });
      expect(failure.message).toBe('the address 127.0.0.1 is closed to calls from here');
      expect(none).toEqual([]);
    }
    expect(await found('no such name', open, {})).toMatchObject([{ code: 'ENOTFOUND' }, []]);
  });

  it('uses no connection that was opened without a check', async () => {
    const server = createServer((_, res) => res.end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://localhost:${(server.address() as AddressInfo).port}/`;
    try {
      expect((await outsideCall('the host', url)).status).toBe(200);
      await expect(outsideCall('the host', url, { reach: new Reach() })).rejects.toThrow('ECLOSEDADDRESS');
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it('calls no closed address, whether by name or number', async () => {
    let called = 0;
    const server = createServer((_, res) => {
      called++;
      res.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]']) {
        const call = outsideCall('the host', `http://${host}:${port}/`, { reach: new Reach() });
        await expect(call).rejects.toMatchObject({ kind: 'upstream' });
      }
      expect(called).toBe(0);
      const metadata = outsideCall('the host', 'http://2852039166/');
      await expect(metadata).rejects.toThrow('the host is unreachable: ECLOSEDADDRESS');
      const answer = await outsideCall('the host', `http://127.0.0.1:${port}/`, { reach: new Reach(['127.0.0.1/32']) });
      expect([answer.status, called]).toEqual([200, 1]);
    } finally {
      server.close();
    }
  });
});
