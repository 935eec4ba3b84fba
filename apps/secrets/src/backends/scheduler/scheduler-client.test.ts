import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SchedulerStandIn } from '../../../test/stand-ins/scheduler';
import { plainParts, Throttle } from '../../sdk/outside';
import { SchedulerClient } from './scheduler-client';

describe('a client of a scheduler', () => {
  const upstream = new SchedulerStandIn();
  beforeAll(() => upstream.start());
  afterAll(() => upstream.stop());

  it('sends many calls a few at a time, and lets others run in between', async () => {
    const { address, management: token } = upstream;
    let started = 0;
    const fault = (name: string) => {
      if (name === 'scheduler:create') started++;
    };
    const throttle = new Throttle();
    // A client is created for every request; all clients share the throttle.
    const crowd = Array.from({ length: 40 }, (_, n) => {
      const access = { address, token, caCert: '', clientCert: '', clientKey: '' };
      const client = new SchedulerClient(access, { parts: { ...plainParts, fault }, throttle });
      return client.createToken({ name: `n${n}`, type: 'client', policies: ['read'], global: false });
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).toBeGreaterThan(0);
    expect(started).toBeLessThan(9);
    const answers = await Promise.all(crowd);
    expect(started).toBe(40);
    expect(new Set(answers.map(({ secretId }) => secretId)).size).toBe(40);
  });
});
