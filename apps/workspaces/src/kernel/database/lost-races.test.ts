import { describe, expect, it } from '@jest/globals';
import { refusalOf, untilWon } from './lost-races';

const said = (code: string, message = 'as expected') => Object.assign(new Error(message), { severity: 'ERROR', code });

describe('a lost race', () => {
  it.each(['40001', '40P01'])('%s is repeated until it succeeds', async (code) => {
    let runs = 0;
    const won = await untilWon(async () => {
      if (++runs <= 12) throw said(code);
      return 'won';
    });
    expect([won, runs]).toEqual(['won', 13]);
  });

  it('ends when time runs out, and asks to try again', async () => {
    const never = () => Promise.reject(said('40001'));
    await expect(untilWon(never, 0)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it.each([
    [
      'a row that must be deleted is in use',
      'update or delete on table "a" violates foreign key constraint',
      'conflict',
    ],
    ['a referenced row was deleted', 'insert or update on table "a" violates foreign key constraint', 'missing'],
  ])('is final if %s', async (_case, message, kind) => {
    let runs = 0;
    const run = () => {
      runs++;
      return Promise.reject(said('23503', message));
    };
    await expect(untilWon(run)).rejects.toMatchObject({ kind });
    expect(runs).toBe(3);
  });

  it('leaves all other errors as faults', () => {
    for (const error of [said('42601'), new Error('ours')]) expect(refusalOf(error)).toBe(error);
  });
});
