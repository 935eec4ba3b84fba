import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';

const types: Readonly<Record<number, 'A' | 'TXT' | 'AAAA'>> = { 1: 'A', 16: 'TXT', 28: 'AAAA' };

/** A DNS server for the tests of a file: the TXT records that were set, and one address for all other names. */
export function startDnsAnswerer(address = '127.0.0.1') {
  const texts = new Map<string, string[]>();
  const addresses = new Map<string, string>();
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address: from }) => {
    const labels: string[] = [];
    let at = 12;
    for (; query[at] !== 0; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
    const question = query.subarray(12, at + 5);
    const name = labels.join('.').toLowerCase();
    const type = types[query.readUInt16BE(at + 1)];
    asked.push(`${type} ${name}`);
    const content =
      type === 'TXT'
        ? (texts.get(name) ?? []).map((text) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]))
        : type === 'A'
          ? [Buffer.from((addresses.get(name) ?? address).split('.').map(Number))]
          : [];
    const records = content.map((data) => {
      const head = Buffer.alloc(12);
      head.writeUInt16BE(0xc00c);
      head.writeUInt16BE(type === 'TXT' ? 16 : 1, 2);
      head.writeUInt16BE(1, 4);
      head.writeUInt16BE(data.length, 10);
      return Buffer.concat([head, data]);
    });
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, question, ...records]), port, from);
  });
  beforeAll(() => new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { texts, addresses, asked, at: () => `127.0.0.1:${(socket.address() as AddressInfo).port}` };
}
