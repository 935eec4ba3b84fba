import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createSealKeyFile, readSealKeys } from './index';

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

  it('are read from files, the previous one beside the current', () => {
    const file = path.join(box, 'previous');
    writeFileSync(file, key.toString('base64'));
    const keys = readSealKeys({ value: '11'.repeat(32), previousFile: file });
    expect(keys).toEqual({ current: Buffer.alloc(32, 0x11), previous: key });
  });

  it('name their source when they are bad, and never show themselves', () => {
    const file = path.join(box, 'bad');
    writeFileSync(file, 'hidden-and-short');
    expect(() => readSealKeys({ file })).toThrow(`the seal key in ${file} is not 32 bytes in hexadecimal or base64`);
    expect(() => readSealKeys({ value: 'hidden' })).toThrow(/^the seal key is not 32 bytes/);
    expect(() => readSealKeys({ value: key.toString('hex'), previousValue: 'x' })).toThrow(/^the previous seal key/);
    expect(() => readSealKeys({ file: path.join(box, 'absent') })).toThrow(/absent cannot be read: ENOENT/);
    expect(() => readSealKeys({})).toThrow('no seal key');
  });

  it('are made in a file for their owner alone, and never overwritten', () => {
    const file = path.join(box, 'made');
    const made = createSealKeyFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readSealKeys({ file }).current).toEqual(made);
    const before = readFileSync(file, 'utf8');
    expect(() => createSealKeyFile(file)).toThrow('EEXIST');
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});
