import { describe, expect, it } from '@jest/globals';
import { isConnectionLoss } from './connection-loss';

const coded = (code: string, message = 'said') => Object.assign(new Error(message), { code });

describe('a lost database', () => {
  it.each([
    coded('ECONNREFUSED'),
    Object.assign(coded('ENOENT'), { syscall: 'connect' }),
    coded('08006'),
    coded('57P01', 'terminating connection due to administrator command'),
    coded('25006', 'cannot execute INSERT in a read-only transaction'),
    coded('57P03', 'the database system is starting up'),
    Object.assign(new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]), { code: 'ECONNREFUSED' }),
    new AggregateError([coded('ECONNREFUSED')]),
    new Error('Connection terminated unexpectedly'),
    new Error('a wrapper', { cause: coded('ECONNRESET') }),
    coded('P1017'),
    coded('P2028', 'Unable to start a transaction in the given time.'),
    Object.assign(coded('P2010'), { meta: { driverAdapterError: { cause: { originalCode: '57P01' } } } }),
  ])('is recognised: %s', (error) => expect(isConnectionLoss(error)).toBe(true));

  it.each([
    coded('23505'),
    coded('P2002'),
    Object.assign(coded('ENOENT'), { syscall: 'open' }),
    Object.assign(coded('P2010'), { meta: { driverAdapterError: { cause: { originalCode: '22P02' } } } }),
    new TypeError('x is not a function'),
    undefined,
    'Connection terminated',
  ])('is not another error: %s', (error) => expect(isConnectionLoss(error)).toBe(false));
});
