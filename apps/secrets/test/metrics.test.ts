import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('metrics', () => {
  const lines: string[] = [];
  const secrets = startSecrets({ log: (line) => lines.push(line) });
  const scrape = async () => (await secrets.root.read('sys/metrics?format=prometheus').expect(200)).text;
  const value = (text: string, series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))!
        .slice(series.length),
    );

  it('show the values that operators chart: live objects, waiting work, storage times, and received notices', async () => {
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

  it('count tokens, certificates and secrets that expire soon, in any namespace', async () => {
    const shown = async () => {
      const text = await scrape();
      return ['tokens', 'certificates', 'secrets'].map((kind) =>
        ['1d', '7d', '30d'].map((within) => value(text, `secrets_expiring{kind="${kind}",within="${within}"}`)),
      );
    };
    expect(await shown()).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
    await secrets.root.write('auth/token/create', { ttl: '48h' }).expect(200);
    await secrets.root.write('auth/token/create', { ttl: '1h' }).expect(200);
    await secrets.root.write('sys/namespaces/soon', {}).expect(200);
    await secrets.root.write('soon/auth/token/create', { ttl: '600h' }).expect(200);
    await secrets.root.write('soon/sys/mounts/kv', { type: 'kv', options: { version: '2' } }).expect(204);
    await secrets.root.write('soon/kv/metadata/brief', { delete_version_after: '12h' }).expect(204);
    for (const name of ['brief', 'long']) await secrets.root.write(`soon/kv/data/${name}`, { data: {} }).expect(200);
    await secrets.root.write('sys/mounts/plain', { type: 'kv' }).expect(204);
    const tomorrow = String(Math.floor(Date.now() / 1000) + 86_000).padStart(12, '0');
    await secrets.root.write(`plain/ends/${tomorrow} x`, { named: 'like an entry of an index' }).expect(204);
    await secrets.root.write('sys/mounts/pki', { type: 'pki' }).expect(204);
    await secrets.root.write('pki/root/generate/internal', { common_name: 'x', ttl: '300h' }).expect(200);
    expect(await shown()).toEqual([
      [0, 1, 2],
      [0, 0, 1],
      [1, 1, 1],
    ]);
  });

  it('count users that are locked out and unlocked, and the log has each without the name', async () => {
    await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
    await secrets.root.write('sys/auth/people/tune', { user_lockout_config: { lockout_threshold: '2' } }).expect(204);
    await secrets.root.write('auth/people/users/ada-lovelace', { password: 'right-password' }).expect(204);
    const wrong = () => secrets.anonymous.write('auth/people/login/ada-lovelace', { password: 'wrong' }).expect(400);
    await wrong();
    expect(value(await scrape(), 'secrets_users_locked_total')).toBe(0);
    await wrong();
    await secrets.anonymous.write('auth/people/login/ada-lovelace', { password: 'right-password' }).expect(400);
    expect(value(await scrape(), 'secrets_users_locked_total')).toBe(1);
    const { accessor, uuid } = (await secrets.root.read('sys/auth').expect(200)).body.data['people/'];
    for (let i = 0; i < 2; i++)
      await secrets.root.write(`sys/locked-users/${accessor}/unlock/ada-lovelace`).expect(204);
    const text = await scrape();
    expect([value(text, 'secrets_users_locked_total'), value(text, 'secrets_users_unlocked_total')]).toEqual([1, 1]);
    const said = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /locked/.test(msg));
    expect(said.map(({ msg }) => msg)).toEqual([
      'a user is locked out: too many wrong passwords',
      'a locked user was unlocked',
    ]);
    expect(new Set(said.map(({ user }) => user)).size).toBe(1);
    expect(said.every(({ mount }) => mount === uuid)).toBe(true);
    expect(JSON.stringify(said)).not.toContain('ada');
  });
});
