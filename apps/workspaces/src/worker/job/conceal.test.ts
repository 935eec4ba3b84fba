import { describe, expect, it, jest } from '@jest/globals';
import type { RunJob } from '../../resources/runs/runs/jobs/job';
import { Concealer } from '../tool/run-log';
import { credentialsFor } from './credentials';
import type { JobSource } from './job-source';

describe('concealing secrets in a log', () => {
  const shown = (texts: string[], ...pieces: string[]): string => {
    const concealer = new Concealer();
    concealer.add(...texts);
    const out = pieces.map((piece) => concealer.push(Buffer.from(piece)));
    return Buffer.concat([...out, concealer.end()]).toString();
  };

  it('replaces every occurrence', () => {
    expect(shown(['s.abc'], 'token s.abc and s.abcs.abc.')).toBe('token *** and ******.');
  });

  it('replaces secrets that arrive in pieces, byte by byte', () => {
    expect(shown(['s.abcabd'], ...'x s.abcabs.abcabd y')).toBe('x s.abcab*** y');
  });

  it('replaces the whole of a secret that starts with another one, however it arrives', () => {
    const texts = ['s.abc', 's.abcdef'];
    expect(shown(texts, 's.abcdef s.abc s.abcde')).toBe('*** *** ***de');
    for (let at = 1; at < 8; at++) expect(shown(texts, 's.abcdef'.slice(0, at), 's.abcdef'.slice(at))).toBe('***');
    expect(shown(texts, ...'x s.abc s.abcdef')).toBe('x *** ***');
    expect(shown(texts, 'x s.ab', 'c')).toBe('x ***');
  });

  it('replaces secrets that are added later', () => {
    const concealer = new Concealer();
    expect(concealer.push(Buffer.from('s.abc ')).toString()).toBe('s.abc ');
    concealer.add('s.abc');
    expect(concealer.push(Buffer.from('s.abc ')).toString()).toBe('*** ');
  });

  it('shows text that only begins like a secret', () => {
    expect(shown(['s.abc'], 'the end is s.ab')).toBe('the end is s.ab');
  });

  it('changes nothing when there is nothing to conceal', () => {
    expect(shown([''], 'as', ' it is')).toBe('as it is');
  });

  it('includes identity tokens that are renewed during the run', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    let asked = 0;
    const source = {
      login: async () => undefined,
      identities: async () => ({ tokens: { 'aws.workload.identity': `token-${++asked}` } }),
    } as unknown as JobSource;
    const variables = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_AWS_RUN_ROLE_ARN: 'arn:aws:iam::1:role/r' };
    const environment = Object.entries(variables).map(([key, value]) => ({ key, value, hcl: false, sensitive: false }));
    const concealer = new Concealer();
    const job = { kind: 'plan', runId: 'run-1' } as RunJob;
    const credentials = await credentialsFor(source, { warn: () => {} } as never, job, concealer, environment);
    await jest.advanceTimersByTimeAsync(20 * 60_000);
    expect(concealer.push(Buffer.from('token-1 token-2')).toString()).toBe('*** ***');
    await credentials.end();
    jest.useRealTimers();
  });
});
