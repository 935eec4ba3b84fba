import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../packages/testing/src/index';
import { recording } from './recording';

// On the day of a release the recorder must know everything added since the last one. Takes a few minutes.

(process.env.KEYSTEAD_LONG ? describe : describe.skip)('a recording of this version', () => {
  const databases: TestDatabase[] = [];
  afterAll(() => Promise.all(databases.map((database) => database.drop())));

  it('has a row in every table and an answer of every operation', async () => {
    databases.push(await emptyDatabase(), await emptyDatabase());
    const [secrets, workspaces] = databases as [TestDatabase, TestDatabase];
    const urls = { secrets: secrets.url, workspaces: workspaces.url };
    const { gaps, questions } = await recording({ root: path.resolve(__dirname, '../..'), built: false }, urls);
    expect(gaps).toEqual([]);
    expect(questions.length).toBeGreaterThan(500);
  }, 900_000);
});
