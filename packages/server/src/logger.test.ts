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

  it('never shows a field that can hold a secret', () => {
    const lines: string[] = [];
    const log = createLogger({ name: 'secrets', level: 'info', destination: { write: (l) => void lines.push(l) } });
    log.info({ token: 'hunter2', req: { headers: { x: 'hunter2' }, password: 'hunter2' }, body: 'hunter2' }, 'oops');
    expect(lines.join('')).not.toContain('hunter2');
    expect(lines.join('')).toContain('[redacted]');
  });
});
