import { describe, expect, it } from '@jest/globals';
import { serial } from './open-database';

const statement = (sql: string) => ({ sql, args: [], argTypes: [] });

describe('the statements of a transaction', () => {
  it('are sent one after the other, in order, and continue after a failed one', async () => {
    const said: string[] = [];
    let underWay = 0;
    const send = async ({ sql }: { sql: string }) => {
      underWay++;
      said.push(`${sql}, ${underWay} running`);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
      if (sql === 'broken') throw new Error('as expected');
    };
    const transaction = serial({
      queryRaw: async (query: { sql: string }) => {
        await send(query);
        return { columnNames: [], columnTypes: [], rows: [[query.sql]] };
      },
      executeRaw: async (query: { sql: string }) => {
        await send(query);
        return 1;
      },
    });
    const answers = await Promise.allSettled([
      transaction.queryRaw(statement('first')),
      transaction.executeRaw(statement('broken')),
      transaction.queryRaw(statement('second')),
      transaction.executeRaw(statement('third')),
    ]);
    expect(said).toEqual(['first, 1 running', 'broken, 1 running', 'second, 1 running', 'third, 1 running']);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(answers[2]).toMatchObject({ value: { rows: [['second']] } });
    expect(answers[3]).toMatchObject({ value: 1 });
  });
});
