import { describe, expect, it } from '@jest/globals';
import { Log } from '../src/workspaces/runs/log';

const all = (log: Log) => Array.from({ length: log.count }, (_, at) => log.at(at).text);

describe('the log of a run, as the page holds it', () => {
  it('is the same in any division into pieces', () => {
    const hook = { '@message': 'wall: laid', '@level': 'info', type: 'apply_complete' };
    const said = JSON.stringify({ ...hook, hook: { resource: { addr: 'stone.wall' }, action: 'create' } });
    const diagnostic = { severity: 'error', summary: 'No stones', detail: 'Buy some.\nThen go on.' };
    const error = JSON.stringify({ '@message': 'Error: No stones', '@level': 'error', diagnostic });
    const text = `first\r\n\n${said}\n${error}\n{"@ no JSON\nwithout an end`;
    const expected = ['first', '', 'wall: laid', 'Error: No stones', 'Buy some.', 'Then go on.', '{"@ no JSON'];
    for (const size of [1, 2, 3, 7, 1000]) {
      const log = new Log();
      for (let at = 0; at < text.length; at += size) log.append(text.slice(at, at + size));
      expect(all(log)).toEqual([...expected, 'without an end']);
      expect(log.at(4).level).toBe('error');
      expect([...log.progress.values()]).toEqual([{ address: 'stone.wall', action: 'create', state: 'done' }]);
    }
  });

  it('gives another picture of the progress only when there is news', () => {
    const log = new Log();
    log.append('nothing yet\n');
    const before = log.progress;
    log.append('nothing still\n');
    expect(log.progress).toBe(before);
    const change = { resource: { addr: 'a.b' }, action: 'create' };
    log.append(`${JSON.stringify({ '@message': '', '@level': 'info', type: 'planned_change', change })}\n`);
    expect(log.progress).not.toBe(before);
    expect(before.size).toBe(0);
  });

  it('cuts a line that never ends', () => {
    const log = new Log();
    const piece = 'x'.repeat(64 * 1024);
    for (let n = 0; n < 32; n++) log.append(piece);
    expect(log.count).toBeGreaterThan(4);
    expect(all(log).join('')).toBe(piece.repeat(32));
  });
});
