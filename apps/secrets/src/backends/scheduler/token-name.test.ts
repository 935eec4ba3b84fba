import { describe, expect, it } from '@jest/globals';
import { nameLimitOf, tokenName } from './token-name';

const endsUnique = /-\d{19}$/;

describe('length of scheduler token names (S24.1)', () => {
  it.each([
    ['0.7.1', 64],
    ['0.8.3', 64],
    ['0.8.4', 256],
    ['1.9.3', 256],
    ['v2.0.6-dev', 256],
    ['', 256],
    ['nonsense', 256],
  ])('version %j takes %i bytes', (version, limit) => {
    expect(nameLimitOf(version)).toBe(limit);
  });

  it('cuts a long name before its unique end', () => {
    const name = tokenName('r'.repeat(300), 'alice', 1_795_256_678_439, 64);
    expect(Buffer.byteLength(name)).toBe(64);
    expect(name).toMatch(/^service-r+-\d{19}$/);
  });

  it('counts bytes and never splits a character', () => {
    const name = tokenName('ü'.repeat(200), 'ö', 1_795_256_678_439, 256);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(256);
    expect(name).not.toContain('\uFFFD');
    expect(name).toMatch(endsUnique);
  });

  it('names role and caller if there is room', () => {
    expect(tokenName('ops', 'token-bob', 1_795_256_678_439, 256)).toMatch(/^service-ops-token-bob-\d{19}$/);
  });

  it('gives different names in the same millisecond', () => {
    const names = new Set(Array.from({ length: 50 }, () => tokenName('ops', 'bob', 1, 256)));
    expect(names.size).toBeGreaterThan(48);
  });
});
