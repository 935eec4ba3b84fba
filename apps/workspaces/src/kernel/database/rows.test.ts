import { describe, expect, it } from '@jest/globals';
import { rowMapper } from './rows';

describe('rows', () => {
  it('get the names of Prisma, and numbers of any size', () => {
    const map = rowMapper(['revision', 'size']);
    expect(map({ id: 'ws-1', created_at: 'now', revision: '7', size: null })).toEqual({
      id: 'ws-1',
      createdAt: 'now',
      revision: 7n,
      size: null,
    });
  });

  it('are distinguished by their columns, in any order of statements', () => {
    const map = rowMapper();
    const rows = [{ id: 'a', key: 'k' }, { id: 'a', name: 'n' }, { id: 'b' }, { id: 'c', key: undefined }];
    for (const row of [...rows, ...rows]) expect(Object.entries(map(row) as object)).toEqual(Object.entries(row));
  });
});
