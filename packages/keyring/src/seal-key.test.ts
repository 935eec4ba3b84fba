import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createSealKeyFile, openWithSealKey, parseKey, readSealKeys, sealWithSealKey, WrongSealKey } from './index';

const box = mkdtempSync(path.join(tmpdir(), 'keystead-keys-'));
afterAll(() => rmSync(box, { recursive: true, force: true }));
const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7));

describe('seal keys', () => {
  it.each([
    ['hexadecimal', key.toString('hex')],
    ['capital hexadecimal', key.toString('hex').toUpperCase()],
    ['base64', key.toString('base64')],
    ['base64 for addresses', key.toString('base64url')],
    ['text with a final newline', `${key.toString('hex')}\n`],
  ])('are read from %s', (_, value) => {
    expect(readSealKeys({ value }).current).toEqual(key);
  });

  it('are read from files, both the current and the previous one', () => {
    const file = path.join(box, 'previous');
    writeFileSync(file, key.toString('base64'));
    const keys = readSealKeys({ value: '11'.repeat(32), previousFile: file });
    expect(keys).toEqual({ current: Buffer.alloc(32, 0x11), previous: key });
  });

  // Some deployments set unused variables to an empty value.
  it('are read from the file if the value is empty, and are absent if both are empty', () => {
    const file = path.join(box, 'no-other');
    writeFileSync(file, key.toString('hex'));
    expect(readSealKeys({ value: '', file, previousValue: '', previousFile: '' })).toEqual({ current: key });
    expect(() => readSealKeys({ value: '', file: '' })).toThrow('no seal key');
  });

  it('are never cut from longer text, nor padded from shorter', () => {
    for (const text of [key.toString('hex'), key.toString('base64'), key.toString('base64url')]) {
      for (const wrong of [`x${text}`, `${text}x`, `${text} ${text}`, text.slice(4)]) {
        expect([wrong, parseKey(wrong)]).toEqual([wrong, undefined]);
      }
    }
  });

  it('name their source when they are bad, and never show themselves', () => {
    const file = path.join(box, 'bad');
    writeFileSync(file, 'hidden-and-short');
    expect(() => readSealKeys({ file })).toThrow(`the seal key in ${file} is not 32 bytes in hexadecimal or base64`);
    expect(() => readSealKeys({ value: 'hidden' })).toThrow(/^the seal key is not 32 bytes/);
    expect(() => readSealKeys({ value: key.toString('hex'), previousValue: 'x' })).toThrow(/^the previous seal key/);
    const absent = () => readSealKeys({ file: path.join(box, 'absent') });
    expect(absent).toThrow(/absent cannot be read: ENOENT/);
    expect(absent).toThrow(expect.objectContaining({ cause: expect.objectContaining({ code: 'ENOENT' }) }));
    expect(() => readSealKeys({})).toThrow('no seal key');
  });

  it('are created in a file that only its owner can read, and never overwritten', () => {
    const file = path.join(box, 'made');
    const key = createSealKeyFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readSealKeys({ file }).current).toEqual(key);
    const before = readFileSync(file, 'utf8');
    expect(() => createSealKeyFile(file)).toThrow('EEXIST');
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('leave no file open', () => {
    const next = () => {
      const descriptor = openSync(box, 'r');
      closeSync(descriptor);
      return descriptor;
    };
    const before = next();
    createSealKeyFile(path.join(box, 'closed'));
    expect(next()).toBe(before);
  });
});

describe('a value sealed with a seal key', () => {
  it('opens with that key, even if it is empty', () => {
    for (const text of ['', 'text']) {
      expect(openWithSealKey(sealWithSealKey(Buffer.from(text), key), [key]).toString()).toBe(text);
    }
  });

  it('opens in no other form: every changed bit and every truncation is treated as a wrong key', () => {
    const sealed = sealWithSealKey(Buffer.from('text'), key);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => openWithSealKey(changed, [key])).toThrow(WrongSealKey);
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(() => openWithSealKey(sealed.subarray(0, length), [key])).toThrow(WrongSealKey);
    }
    expect(() => openWithSealKey(sealed, [])).toThrow('use the key it was sealed with, or give it as the previous key');
  });
});
