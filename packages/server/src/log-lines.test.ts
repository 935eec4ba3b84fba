import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createLogger, followLog } from './index';

const logger = () => {
  const lines: string[] = [];
  const log = createLogger({ name: 'x', level: 'info', destination: { write: (line) => void lines.push(line) } });
  return { log, lines };
};

describe('a follower of a log', () => {
  it('gets every line from then on, also of children, until it stops following', () => {
    const { log, lines } = logger();
    const [one, two]: [string[], string[]] = [[], []];
    log.info('before');
    const endOne = followLog(log, (line) => one.push(line));
    log.child({ part: 'p' }).info('first');
    const endTwo = followLog(log.child({}), (line) => two.push(line));
    log.debug('below the level');
    log.warn('second');
    endOne();
    log.error('third');
    endTwo();
    log.info('after');
    const texts = (all: string[]) => all.map((line) => JSON.parse(line).msg);
    expect(texts(lines)).toEqual(['before', 'first', 'second', 'third', 'after']);
    expect(texts(one)).toEqual(['first', 'second']);
    expect(texts(two)).toEqual(['second', 'third']);
    expect(one[0]).toBe(lines[1]);
    expect(one[0]).toMatch(/^\{"level":"info"/);
  });

  it('follows no other logger', () => {
    expect(() => followLog(pino({ level: 'silent' }), () => undefined)).toThrow('not created with createLogger');
  });
});

describe('the content of a log', () => {
  it.each(['authorization', 'cookie', 'token', 'password', 'secret', 'client_token', 'jwt', 'key', 'keys'])(
    'never includes %s, at the top level or one level below',
    (field) => {
      const { log, lines } = logger();
      log.info({ [field]: 'hunter2', inner: { [field]: 'hunter2', kept: 1 } });
      expect(JSON.parse(lines[0]!)).toMatchObject({
        [field]: '[redacted]',
        inner: { [field]: '[redacted]', kept: 1 },
      });
    },
  );

  it.each(['headers', 'body'])('shows no secret of %s', (field) => {
    const { log, lines } = logger();
    log.info({ [field]: { any: 'hunter2' }, inner: { [field]: { any: 'hunter2' } } });
    expect(JSON.parse(lines[0]!)).toMatchObject({ [field]: '[redacted]', inner: { [field]: '[redacted]' } });
  });

  it('includes the causes of an error, and thrown values that are not errors', () => {
    const { log, lines } = logger();
    const many = new AggregateError([new Error('one'), 'two'], 'many');
    log.error({ err: many });
    const loop = new Error('loop');
    loop.cause = loop;
    log.error({ err: loop });
    log.error({ err: 'a text' });
    log.error({ err: null });
    const errors = lines.map((line) => JSON.parse(line).err);
    expect(errors[0]).toMatchObject({ type: 'AggregateError', message: 'many', errors: [{ message: 'one' }, 'two'] });
    expect(errors[1]).toMatchObject({ message: 'loop' });
    expect(errors[1]).not.toHaveProperty('cause');
    expect(errors.slice(2)).toEqual(['a text', null]);
  });

  it('has one name, and no process id or host', () => {
    const { log, lines } = logger();
    log.info('x');
    expect(Object.keys(JSON.parse(lines[0]!))).toEqual(['level', 'time', 'name', 'msg']);
  });
});
