import { describe, expect, it } from '@jest/globals';
import { Concealer, RunLog } from './run-log';

function kept(limit: number) {
  const pieces: Buffer[] = [];
  let full = 0;
  const log = new RunLog({ limit, keep: async (bytes) => void pieces.push(bytes), full: () => full++ });
  return { log, text: () => Buffer.concat(pieces).toString('latin1'), full: () => full };
}

describe('the log of a run', () => {
  it('is kept in order', async () => {
    const { log, text } = kept(1000);
    for (let index = 0; index < 50; index++) await log.write(Buffer.from(`${index} `));
    log.say('end');
    await log.flush();
    expect(text()).toBe(`${Array.from({ length: 50 }, (_, index) => `${index} `).join('')}end\n`);
  });

  it('keeps control characters except those that mark its start and end', async () => {
    const { log, text } = kept(1000);
    await log.write(Buffer.from([0x1b, 0x5b, 0x31, 0x6d, 2, 3, 0, 0xff]));
    await log.flush();
    expect(text()).toBe('\x1b[1m??\0\xff');
  });

  it('ends at its limit with a note, which appears once', async () => {
    const { log, text, full } = kept(10);
    await log.write(Buffer.from('123456789'));
    await log.write(Buffer.from('abcdef'));
    await log.write(Buffer.from('ghi'));
    await log.flush();
    expect(text()).toMatch(/^123456789a\n\nThe log has reached its limit of 10 bytes/);
    expect(full()).toBe(1);
  });

  it('keeps what could not be stored, in order and without secrets, for the result', async () => {
    const pieces: string[] = [];
    const keep = async (bytes: Buffer) => {
      if (pieces.length > 0) throw new Error('away');
      pieces.push(bytes.toString());
    };
    const concealer = new Concealer();
    concealer.add('s.abc');
    const log = new RunLog({ limit: 1000, concealer, keep, full: () => {} });
    for (const text of ['one s.', 'abc two s.a', 'bc three s.', 'abc s.ab']) {
      await log.write(Buffer.from(text));
      if (text !== 'abc s.ab') await log.flush();
    }
    expect(pieces).toEqual(['one ']);
    expect(String(await log.take())).toBe('*** two *** three *** s.ab');
  });

  it('does not stop the tool if it cannot be stored', async () => {
    const log = new RunLog({ limit: 1_000_000, keep: () => Promise.reject(new Error('away')), full: () => {} });
    for (let index = 0; index < 3; index++) await log.write(Buffer.alloc(300_000, 'x'));
    expect((await log.take()).length).toBe(900_000);
  });
});
