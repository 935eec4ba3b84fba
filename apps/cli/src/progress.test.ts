import { describe, expect, it } from '@jest/globals';
import { Progress } from './progress';

function watched(terminal: boolean, total?: number) {
  let nowMs = 1000;
  let said = '';
  const streams = {
    out: () => {},
    err: (text: string) => {
      said += text;
    },
    terminal: { out: false, err: terminal },
  };
  const progress = new Progress(streams, 'saving', 'rows', total, () => nowMs);
  return {
    progress,
    pass: (ms: number) => {
      nowMs += ms;
    },
    said: () => said,
  };
}

describe('progress', () => {
  it('tells share, rate and time left on a terminal, and takes its line away', () => {
    const { progress, pass, said } = watched(true, 1000);
    pass(2000);
    progress.at(200);
    expect(said()).toContain('saving: 20 %, 200 rows of 1000 rows, 100 rows/s, 8 s left');
    progress.end();
    expect(said().endsWith('\r\u001b[K')).toBe(true);
  });

  it('is not written more often than anybody reads', () => {
    const { progress, pass, said } = watched(true);
    pass(500);
    for (let done = 0; done < 1000; done += 1) progress.at(done);
    expect(said().split('\r')).toHaveLength(2);
  });

  it('says nothing where nobody looks', () => {
    const { progress, pass, said } = watched(false, 10);
    pass(500);
    progress.at(5);
    progress.end();
    expect(said()).toBe('');
  });
});
