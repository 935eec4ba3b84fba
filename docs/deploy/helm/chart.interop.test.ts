import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

// The chart as Helm itself sees it, where it is installed.

const program = process.env.KEYSTEAD_HELM ?? '/usr/local/bin/helm';
const there = existsSync(program);
const whereThere = there ? describe : describe.skip;
const chart = join(__dirname, 'keystead');
const helm = (...args: string[]) =>
  execFileSync(program, [...args, '--kube-version', '1.34.0'], { encoding: 'utf8', stdio: 'pipe' });
const kinds = (text: string) => [...text.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => String(kind)).sort();

whereThere(`helm${there ? '' : ` (skipped: ${program} is not installed)`}`, () => {
  it('finds nothing wrong with it', () => {
    expect(helm('lint', '--strict', chart)).toContain('0 chart(s) failed');
  });

  it('renders all of a service, and only what is on', () => {
    const whole = helm('template', 'r', chart, '--set', 'secrets.autoscaling.enabled=true,secrets.tls=true');
    const each = ['Deployment', 'Job', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'];
    expect(kinds(whole)).toEqual([...each, ...each, 'HorizontalPodAutoscaler', 'ServiceAccount'].sort());
    expect(whole).toContain('scheme: HTTPS');
    const less =
      'workspaces.enabled=false,networkPolicy.enabled=false,migrations.hook=false,podDisruptionBudget.enabled=false';
    const small = helm('template', 'r', chart, '--set', less);
    expect(kinds(small)).toEqual(['Deployment', 'Service', 'ServiceAccount']);
    expect(small).not.toContain('SECRETS_MIGRATE');
  });

  it.each(['replica=3', 'secrets.settings.NOT_OURS=x', 'secrets.port=80', 'secrets.replicas=0'])(
    'refuses %s',
    (value) => {
      expect(() => helm('template', 'r', chart, '--set', value)).toThrow();
    },
  );

  it('leaves the key out where people unseal', () => {
    const text = helm('template', 'r', chart, '--set', 'secrets.settings.SECRETS_SEAL=shamir');
    expect(text).not.toContain('SECRETS_SEAL_KEY_FILE');
    expect(text).toContain('WORKSPACES_SEAL_KEY_FILE');
  });
});
