import { describe, expect, it } from '@jest/globals';
import { Outage } from './outage';

describe('an outage of storage', () => {
  it('is logged when it begins and when it ends, however many requests it affects', () => {
    let nowMs = 0;
    const said: [string, object][] = [];
    const tell = (fields: object, message: string) => said.push([message, fields]);
    const outage = new Outage({ warn: tell, info: tell }, () => nowMs);
    outage.answered();
    expect(said).toEqual([]);
    const error = new Error('away');
    for (let i = 0; i < 100; i++, nowMs += 30) {
      outage.lost(error);
      outage.answered();
    }
    expect(said).toEqual([['storage is unavailable', { err: error }]]);
    nowMs += 1000;
    outage.answered();
    outage.answered();
    expect(said.slice(1)).toEqual([['storage is available again', { seconds: 4, met: 100 }]]);
    outage.lost(error);
    expect(said).toHaveLength(3);
  });
});
