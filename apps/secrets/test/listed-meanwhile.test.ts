import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CallStorage } from '../src/pipeline/call-storage';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

describe('a list of names, one of which was deleted since it was read', () => {
  const secrets = startSecrets();

  beforeAll(() => mountEveryKind(secrets));

  it('is answered without this name, even if the list shows more than names', async () => {
    const { list, scan } = CallStorage.prototype;
    const spies = [
      jest.spyOn(CallStorage.prototype, 'list').mockImplementation(async function (this: CallStorage, ...given) {
        return [...(await list.apply(this, given)), 'deleted'];
      }),
      jest.spyOn(CallStorage.prototype, 'scan').mockImplementation(async function (this: CallStorage, ...given) {
        return [...(await scan.apply(this, given)), 'deleted'];
      }),
    ];
    const lists = everyVisit(secrets).filter(({ verb }) => verb === 'list' || verb === 'scan');
    expect(lists.length).toBeGreaterThan(50);
    const wrong: string[] = [];
    for (const { name, at, verb } of lists) {
      const { status } = await secrets.root[verb === 'scan' ? 'scan' : 'list'](at);
      if (![200, 204, 400, 403, 404, 405].includes(status)) wrong.push(`${name}: ${status}`);
    }
    for (const spy of spies) spy.mockRestore();
    expect(wrong).toEqual([]);
  });
});
