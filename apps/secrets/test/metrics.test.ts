import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('metrics', () => {
  const secrets = startSecrets();
  const scrape = async () => (await secrets.root.read('sys/metrics?format=prometheus').expect(200)).text;
  const value = (text: string, series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))!
        .slice(series.length),
    );

  it('show what operators chart: what lives, what waits, how long storage takes, and whether the node hears', async () => {
    await secrets.root.write('cubbyhole/a', { v: '1' }).expect(204);
    await secrets.root.read('cubbyhole/nothing').expect(404);
    await secrets.root.list('cubbyhole').expect(200);
    const text = await scrape();
    for (const operation of ['read', 'commit', 'list']) {
      expect(value(text, `secrets_storage_seconds_count{operation="${operation}"}`)).toBeGreaterThan(0);
    }
    for (const name of ['leases', 'irrevocable', 'due', 'ending', 'tokens_due', 'intents', 'revocations_queued']) {
      expect(value(text, `secrets_${name}`)).toBe(0);
    }
    expect(value(text, 'secrets_tokens')).toBe(1);
    expect(value(text, 'secrets_sealed')).toBe(0);
    expect(value(text, 'secrets_other_nodes')).toBe(0);
    expect(value(text, 'secrets_audit_failures_total')).toBe(0);
    expect([0, 1]).toContain(value(text, 'secrets_hears_changes'));
    expect(value(text, 'secrets_commits_waiting')).toBeGreaterThanOrEqual(0);
  });
});
