import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const src = path.resolve(__dirname, '../..');
const schema = readFileSync(path.resolve(src, '../../../prisma/workspaces/schema.prisma'), 'utf8');

/** Columns whose rows are due when they are written. */
const columns = [...schema.matchAll(/@default\(now\(\)\) @map\("(\w+)"\) @db\.Timestamptz\(3\)/g)].map(
  ([, name]) => name!,
);

// A column rounds to milliseconds, half of the times up: for half a millisecond, a row that is due is in the future.
describe('statements that claim rows which are due', () => {
  it('round the present as the columns do, so that a row is due as soon as it is written', () => {
    const compares = new RegExp(
      `(?:\\b(?:${[...new Set(columns)].join('|')})|this\\.due\\}) <= now\\(\\)(?! [-+])(\\S*)`,
      'g',
    );
    const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|^generated/.test(file))
      .flatMap((file) =>
        [...readFileSync(path.join(src, file), 'utf8').matchAll(compares)].map((match) => ({ file, match })),
      );
    expect(found.length).toBeGreaterThan(5);
    expect(
      found
        .filter(({ match }) => !match[1]!.startsWith('::timestamptz(3)'))
        .map(({ file, match }) => `${file}: ${match[0]}`),
    ).toEqual([]);
  });
});
