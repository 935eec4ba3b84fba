import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { propertySettings } from '../../testing/src/index';
import { type Cell, Keyring, NotAuthentic, UnknownKeyVersion, WrongSealKey } from './index';

fc.configureGlobal(propertySettings);

const cell: Cell = { table: 'entry', row: 'kv/one', column: 'value' };
const sealKey = Buffer.alloc(32, 1);

describe('a keyring', () => {
  it('opens its own sealed values, for any bytes', () => {
    const keyring = Keyring.create();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (plain, row) => {
        const at = { ...cell, row };
        expect(keyring.open(keyring.seal(plain, at), at)).toEqual(Buffer.from(plain));
      }),
    );
  });

  // Without this binding, an attacker with write access to the database could put one tenant's value where another reads it.
  it.each([
    ['row', { ...cell, row: 'kv/two' }],
    ['column', { ...cell, column: 'other' }],
    ['table', { ...cell, table: 'token' }],
    ['table and column shifted', { table: 'entr', column: 'yvalue', row: 'kv/one' }],
  ])('refuses a value moved to another %s', (_, elsewhere) => {
    const keyring = Keyring.create();
    expect(() => keyring.open(keyring.seal(Buffer.from('secret'), cell), elsewhere)).toThrow(NotAuthentic);
  });

  it('refuses two rows swapped with each other', () => {
    const keyring = Keyring.create();
    const [one, two] = ['1', '2'].map((row) => ({
      at: { ...cell, row },
      sealed: keyring.seal(Buffer.from(row), { ...cell, row }),
    }));
    expect(() => keyring.open(two!.sealed, one!.at)).toThrow(NotAuthentic);
    expect(() => keyring.open(one!.sealed, two!.at)).toThrow(NotAuthentic);
  });

  it('notices every changed bit and every truncation', () => {
    const keyring = Keyring.create();
    const sealed = keyring.seal(Buffer.from('four'), cell);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => keyring.open(changed, cell)).toThrow();
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(() => keyring.open(sealed.subarray(0, length), cell)).toThrow(NotAuthentic);
    }
  });

  it('never seals the same value to the same bytes', () => {
    const keyring = Keyring.create();
    const values = new Set(Array.from({ length: 1000 }, () => keyring.seal(Buffer.from('same'), cell).toString('hex')));
    expect(values.size).toBe(1000);
    const nonces = new Set([...values].map((sealed) => sealed.slice(10, 34)));
    expect(nonces.size).toBe(1000);
  });

  it('accepts plain Uint8Arrays that are views of a larger buffer', () => {
    const keyring = Keyring.create();
    const sealed = keyring.seal(Buffer.from('view'), cell);
    const larger = new Uint8Array(sealed.length + 10);
    larger.set(sealed, 5);
    expect(keyring.open(larger.subarray(5, 5 + sealed.length), cell).toString()).toBe('view');
  });
});

describe('rotation', () => {
  it('seals with the new key, and opens values of the old key until it is dropped', () => {
    const keyring = Keyring.create();
    const before = keyring.seal(Buffer.from('old'), cell);
    expect(keyring.addVersion()).toBe(2);
    const after = keyring.seal(Buffer.from('new'), cell);
    expect([keyring.versionOf(before), keyring.versionOf(after), keyring.version]).toEqual([1, 2, 2]);
    expect(keyring.open(before, cell).toString()).toBe('old');
    keyring.dropVersion(1);
    expect(() => keyring.open(before, cell)).toThrow(UnknownKeyVersion);
    expect(keyring.open(after, cell).toString()).toBe('new');
    expect(() => keyring.dropVersion(2)).toThrow('in use');
  });

  it('changes neither look-up values nor derived keys', () => {
    const keyring = Keyring.create();
    const before = [keyring.mac('token', 'abc'), keyring.derive('url')];
    keyring.addVersion();
    keyring.dropVersion(1);
    expect([keyring.mac('token', 'abc'), keyring.derive('url')]).toEqual(before);
  });

  it('is noticed by a keyring that was opened earlier', () => {
    const keyring = Keyring.create();
    const earlier = Keyring.unwrap(keyring.wrap(sealKey), [sealKey]);
    keyring.addVersion();
    expect(() => earlier.open(keyring.seal(Buffer.from('x'), cell), cell)).toThrow(UnknownKeyVersion);
  });
});

describe('wrapping', () => {
  it('keeps all versions and the index key', () => {
    const keyring = Keyring.create();
    const first = keyring.seal(Buffer.from('first'), cell);
    keyring.addVersion();
    const again = Keyring.unwrap(keyring.wrap(sealKey), [sealKey]);
    expect(again.versions).toEqual([1, 2]);
    expect(again.version).toBe(2);
    expect(again.open(first, cell).toString()).toBe('first');
    expect(keyring.open(again.seal(Buffer.from('both'), cell), cell).toString()).toBe('both');
    expect(again.mac('token', 'abc')).toEqual(keyring.mac('token', 'abc'));
  });

  it('opens with the previous seal key if the current one does not fit', () => {
    const wrapped = Keyring.create().wrap(sealKey);
    const fresh = Buffer.alloc(32, 2);
    expect(Keyring.unwrap(wrapped, [fresh, sealKey]).version).toBe(1);
    expect(() => Keyring.unwrap(wrapped, [fresh])).toThrow(WrongSealKey);
    expect(() => Keyring.unwrap(Buffer.from('nonsense'), [sealKey])).toThrow(WrongSealKey);
  });

  it('shows no key in clear', () => {
    const keyring = Keyring.create();
    const wrapped = keyring.wrap(sealKey);
    expect(wrapped.includes(keyring.derive('anything').subarray(0, 8))).toBe(false);
    expect(wrapped).not.toEqual(keyring.wrap(sealKey));
  });
});

// If a service computed any of these differently, it could not find data of an earlier version.
describe('data of an earlier version', () => {
  it('can still be opened, found and derived', () => {
    const wrapped =
      'S1NSMbrs9lJJrD0Xr2IgUhjEEMdnfh0ee2y93qFK0Hub04vrGhc5PHXoapbzrAEzZEf/oNLjX8fSkbCjdh26VNPv1eN9H5xPh8d2vvyDQ1eXMgCzDmxWyGhsr50mES1dEC9Hzw==';
    const sealed = 'AQAAAAc6uLLAv1yopAAAAAD/eDqc+C7E+Rtp5IQPqpj2Q5vjqg==';
    const keyring = Keyring.unwrap(Buffer.from(wrapped, 'base64'), [sealKey]);
    expect(keyring.version).toBe(7);
    expect(keyring.open(Buffer.from(sealed, 'base64'), cell).toString()).toBe('kept');
    expect(keyring.mac('token', 'abc').toString('hex')).toBe(
      '3ead3f495ff6c08ce087e715abfc8011ec0f3b759ebd5f0c3b48ff8fd1d2a135',
    );
    expect(keyring.derive('url').toString('hex')).toBe(
      'd5b1cc905a5aeae31e1482334f0cf16e8f370efd664b816915d4b84b11a0fabc',
    );
  });
});

describe('look-up values', () => {
  it('differ by purpose, by data and by keyring', () => {
    const keyring = Keyring.create();
    const values = [
      keyring.mac('token', 'a'),
      keyring.mac('token', 'b'),
      keyring.mac('accessor', 'a'),
      Keyring.create().mac('token', 'a'),
      keyring.derive('token'),
    ];
    expect(new Set(values.map((value) => value.toString('hex'))).size).toBe(values.length);
    expect(keyring.mac('token', Buffer.from('a'))).toEqual(values[0]);
    expect(values[0]).toHaveLength(32);
  });
});

describe('a destroyed keyring', () => {
  it('no longer works', () => {
    const keyring = Keyring.create();
    const sealed = keyring.seal(Buffer.from('x'), cell);
    keyring.mac('token', 'a');
    keyring.destroy();
    expect(() => keyring.seal(Buffer.from('x'), cell)).toThrow('destroyed');
    expect(() => keyring.open(sealed, cell)).toThrow(UnknownKeyVersion);
    expect(() => keyring.mac('token', 'a')).toThrow('destroyed');
    expect(() => keyring.derive('x')).toThrow('destroyed');
    expect(() => keyring.wrap(sealKey)).toThrow('destroyed');
    expect(() => keyring.addVersion()).toThrow('destroyed');
  });
});
