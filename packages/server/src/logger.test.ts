import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger';

describe('createLogger', () => {
  it('writes JSON lines with a name, a level and a time', () => {
    const lines: string[] = [];
    createLogger({ name: 'secrets', level: 'info', destination: { write: (l) => void lines.push(l) } }).info('started');
    const line = JSON.parse(lines[0]!);
    expect(line).toMatchObject({ name: 'secrets', level: 'info', msg: 'started' });
    expect(Date.parse(line.time)).not.toBeNaN();
  });

  it('never shows a field that may hold a secret', () => {
    const lines: string[] = [];
    const log = createLogger({ name: 'secrets', level: 'info', destination: { write: (l) => void lines.push(l) } });
    log.info({ token: 'hunter2', req: { headers: { x: 'hunter2' }, password: 'hunter2' }, body: 'hunter2' }, 'oops');
    expect(lines.join('')).not.toContain('hunter2');
    expect(lines.join('')).toContain('[redacted]');
  });

  it('shows the error and its stack, not the rows that a driver adds to errors', () => {
    const lines: string[] = [];
    const log = createLogger({ name: 'secrets', level: 'info', destination: { write: (l) => void lines.push(l) } });
    const cause = Object.assign(new Error('violates a constraint'), { code: '23514', detail: '(1, hunter2)' });
    log.error({ err: Object.assign(new Error('failed', { cause }), { values: ['hunter2'] }) }, 'fault');
    const { err } = JSON.parse(lines[0]!);
    expect(err).toMatchObject({ type: 'Error', message: 'failed', cause: { code: '23514' } });
    expect(err.stack).toContain('logger.test');
    expect(lines.join('')).not.toContain('hunter2');
  });

  it('writes the rest to standard output when the process ends, unless it is silent', () => {
    const before = process.listeners('exit');
    createLogger({ name: 'secrets', level: 'silent' }).info('not written');
    expect(process.listeners('exit')).toEqual(before);
    createLogger({ name: 'secrets', level: 'info' });
    const added = process.listeners('exit').filter((one) => !before.includes(one));
    expect(added).toHaveLength(1);
    for (const one of added) process.removeListener('exit', one);
  });
});
