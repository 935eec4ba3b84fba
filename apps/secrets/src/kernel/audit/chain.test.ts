import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshStorage, type TestStorage } from '../../../test/fresh-storage';
import { add, newWriteSet } from '../storage/write-set';
import { AuditChain, type ChainHead, type ChainReport } from './chain';

describe('a long audit table', () => {
  let test: TestStorage;
  let chains: AuditChain[];
  beforeAll(async () => {
    test = await freshStorage();
    const { database, barrier, clock, committer } = test.storage;
    const newChain = () => new AuditChain({ database, barrier, clock, recording: true, verifyMs: 0 });
    chains = [newChain(), newChain(), newChain()];
    for (let n = 0; n < 130; n++) {
      const set = newWriteSet();
      for (const chain of chains) add(set, 'run', (tx) => chain.append(tx, [`{"n":${n}}`]));
      await committer.commit(set);
    }
  });
  afterAll(() => test.close());

  const parts = async (storedHeads: readonly ChainHead[] = []): Promise<ChainReport[]> => {
    const found = [await chains[0]!.verify(storedHeads)];
    for (let next = found[0]!.next; next; next = found.at(-1)!.next)
      found.push(await chains[0]!.verify(storedHeads, next));
    return found;
  };
  const problemsOf = async (storedHeads?: readonly ChainHead[]) =>
    (await parts(storedHeads)).flatMap(({ problems }) => problems);
  const broken = async (statement: string, storedHeads: readonly ChainHead[] = []): Promise<string[]> => {
    await test.byHand('CREATE TABLE kept_record AS SELECT * FROM audit_record');
    await test.byHand(statement);
    const problems = await problemsOf(storedHeads);
    await test.byHand('DELETE FROM audit_record');
    await test.byHand('INSERT INTO audit_record SELECT * FROM kept_record');
    await test.byHand('DROP TABLE kept_record');
    return problems;
  };

  it('is verified in parts, which add up', async () => {
    const found = await parts();
    expect(found.map(({ rows }) => rows)).toEqual([100, 100, 100, 90]);
    const headsByChain = new Map(found.flatMap(({ heads }) => heads).map((head) => [head.chain, head]));
    expect([...headsByChain.values()]).toEqual(await chains[0]!.heads());
    expect(await problemsOf([...headsByChain.values()])).toEqual([]);
  });

  it('continues only from an existing row', async () => {
    const [head] = await chains[0]!.heads();
    const invented = { chain: 'ffffffff-ffff-ffff-ffff-ffffffffffff', sequence: 1, digest: 'x' };
    for (const after of [invented, { ...head!, digest: 'x' }, { ...head!, sequence: 131 }]) {
      const { problems } = await chains[0]!.verify([], after);
      expect(problems).toContain(
        `row ${after.sequence} of chain ${after.chain} is not the row at which the last verification stopped`,
      );
    }
    expect((await chains[0]!.verify([], head)).problems).toEqual([]);
  });

  it('reports a problem once, in any part', async () => {
    const heads = await chains[0]!.heads();
    for (const { chain } of heads) {
      for (const sequence of [1, 69, 70, 99, 100, 101, 130]) {
        const row = `WHERE chain = '${chain}' AND sequence = ${sequence}`;
        const name = `row ${sequence} of chain ${chain}`;
        expect(await broken(`UPDATE audit_record SET entries = entries || 'x' ${row}`)).toEqual([
          `${name} was changed`,
        ]);
        const problemsOfDeletion = await broken(`DELETE FROM audit_record ${row}`, heads);
        expect(problemsOfDeletion).toEqual([
          sequence === 130
            ? `${name} is missing, although its head was stored`
            : `row ${sequence + 1} of chain ${chain} does not follow the previous row`,
        ]);
      }
      expect(await broken(`DELETE FROM audit_record WHERE chain = '${chain}'`, heads)).toEqual([
        `row 130 of chain ${chain} is missing, although its head was stored`,
      ]);
    }
  });
});
