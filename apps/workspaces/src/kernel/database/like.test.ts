import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { partOfText, sameText } from './like';

it('a comparison of text ignores its case, and treats no character in it as a wildcard', () => {
  expect(sameText('a_b')).toEqual({ equals: 'a\\_b', mode: 'insensitive' });
  expect(partOfText('5%')).toEqual({ contains: '5\\%', mode: 'insensitive' });
});

it('no other code compares text without regard to case', () => {
  const root = path.resolve(__dirname, '../..');
  const others = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test)\.ts$/.test(file) && !file.startsWith('generated'))
    .filter((file) => file !== path.join('kernel', 'database', 'like.ts'))
    .filter((file) => readFileSync(path.join(root, file), 'utf8').includes("mode: 'insensitive'"));
  expect(others).toEqual([]);
});
