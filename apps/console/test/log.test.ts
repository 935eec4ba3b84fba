import { describe, expect, it } from '@jest/globals';
import { Log } from '../src/workspaces/runs/log';
import { changesOf } from '../src/workspaces/runs/plan-changes';

const all = (log: Log) => Array.from({ length: log.count }, (_, at) => log.at(at).text);

describe('the log of a run in the page', () => {
  it('is the same regardless of the pieces in which it arrives', () => {
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

  it('collects the errors of the tool with their lines, structured or as text for a terminal', () => {
    const log = new Log();
    const range = { filename: 'main.tf', start: { line: 3 } };
    const diagnostic = { severity: 'error', summary: 'No stones', detail: 'Buy some.', address: 'stone.wall', range };
    const warning = { ...diagnostic, severity: 'warning', summary: 'Few stones' };
    for (const one of [warning, diagnostic])
      log.append(`${JSON.stringify({ '@message': one.summary, '@level': 'x', diagnostic: one })}\n`);
    log.append('\x1b[31m│ \x1b[0mError: No mortar\nError-free: yes\n');
    expect(log.errors).toEqual([
      { line: 4, diagnostic },
      { line: 8, diagnostic: { severity: 'error', summary: 'No mortar', detail: '' } },
    ]);
  });

  it('is searched and saved without the colours of a terminal', () => {
    const log = new Log();
    log.append('one \x1b[1mSTONE\x1b[0m\nanother\nlast st');
    expect(log.linesWith('one stone')).toEqual([0]);
    expect(log.linesWith('ST')).toEqual([0, 2]);
    expect(log.text).toBe('one STONE\nanother\nlast st\n');
  });

  it('returns a new progress object only if something has changed', () => {
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

  it('comes after the plan, which lists destroyed resources first', () => {
    const change = (address: string, ...actions: string[]) => ({
      address,
      type: 'stone',
      change: { actions, before: {}, after: {} },
    });
    const plan = {
      resource_changes: [
        change('stone.a', 'create'),
        change('stone.b', 'no-op'),
        change('stone.c', 'update'),
        change('stone.d', 'delete', 'create'),
        change('stone.z', 'delete'),
        change('stone.e', 'delete'),
      ],
    };
    expect(changesOf(plan).map(({ address, kind }) => `${kind} ${address}`)).toEqual([
      'delete stone.e',
      'delete stone.z',
      'replace stone.d',
      'update stone.c',
      'create stone.a',
    ]);
  });

  it('truncates an endless line', () => {
    const log = new Log();
    const piece = 'x'.repeat(64 * 1024);
    for (let n = 0; n < 32; n++) log.append(piece);
    expect(log.count).toBeGreaterThan(4);
    expect(all(log).join('')).toBe(piece.repeat(32));
  });
});
