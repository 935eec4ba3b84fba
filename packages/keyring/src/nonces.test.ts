import { describe, expect, it } from '@jest/globals';
import { Nonces } from './nonces';

const take = (nonces: Nonces) => Buffer.from(nonces.next());
const random = (nonce: Buffer) => nonce.subarray(0, 8).toString('hex');

describe('nonces', () => {
  it('keep their random part and count up', () => {
    const nonces = new Nonces();
    const first = [take(nonces), take(nonces), take(nonces)];
    expect(first.map((nonce) => nonce.readUInt32BE(8))).toEqual([0, 1, 2]);
    expect(new Set(first.map(random)).size).toBe(1);
  });

  // The same nonce twice under one key would reveal both values.
  it('get another random part when the counter is used up', () => {
    const nonces = new Nonces(2 ** 32 - 2);
    const [last, first, second] = [take(nonces), take(nonces), take(nonces)];
    expect([last, first, second].map((nonce) => nonce.readUInt32BE(8))).toEqual([2 ** 32 - 2, 0, 1]);
    expect(random(first)).not.toBe(random(last));
    expect(random(second)).toBe(random(first));
  });
});
