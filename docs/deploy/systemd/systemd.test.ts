import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { describeConfig as describeSecrets } from '../../../apps/secrets/src/config';
import { describeConfig as describeWorkspaces } from '../../../apps/workspaces/src/config';
import { describeAgentConfig } from '../../../apps/workspaces/src/worker/agent-config';
import { describeWorkerConfig } from '../../../apps/workspaces/src/worker/config';

const root = join(__dirname, '../../..');
const units = readdirSync(__dirname).filter((name) => /\.(service|timer)$/.test(name));
const read = (name: string) => readFileSync(join(__dirname, name), 'utf8');
const page = readFileSync(join(root, 'docs/systemd.md'), 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
const itHere = hasSystemd ? it : it.skip;

describe('the units', () => {
  it('are all installed by their page', () => {
    expect(units.length).toBe(4);
    for (const unit of units) expect(page).toContain(unit);
  });

  it('give services and workers only existing settings', () => {
    const known = describeSecrets() + describeWorkspaces() + describeWorkerConfig() + describeAgentConfig();
    const text = units.map(read).join('') + page;
    const names = [...text.matchAll(/\b((?:SECRETS|WORKSPACES|AGENT)_[A-Z_]+)=/g)].map(([, name]) => String(name));
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(known))).toEqual([]);
  });

  it('start the programs that the build creates', () => {
    const pack = readFileSync(join(root, 'docs/deploy/pack.sh'), 'utf8');
    expect(pack).toContain('cp apps/cli/dist/keystead.cjs "$into/keystead.cjs"');
    expect(pack).toContain('own=$out${folder#"$PWD"}');
    expect(page).toMatch(/docs\/deploy\/pack\.sh \/opt\/keystead-\S+ secrets workspaces/);
    expect(read('keystead@.service')).toContain(
      'WorkingDirectory=/opt/keystead/%i/apps/%i\nExecStart=/usr/bin/node dist/main.js\n',
    );
    expect(read('keystead-backup@.service')).toContain('/opt/keystead/keystead.cjs backup create %i ');
    expect(read('keystead-agent.service')).toContain(
      '/opt/keystead/workspaces/apps/workspaces/dist/worker-main.js agent',
    );
  });

  it('confine a service and its backup in the same way', () => {
    const confined = (name: string) => /^UMask=0077\n[\s\S]*?SystemCallErrorNumber=EPERM$/m.exec(read(name))?.[0];
    expect(confined('keystead@.service')).toMatch(/^CapabilityBoundingSet=$/m);
    expect(confined('keystead-backup@.service')).toBe(confined('keystead@.service'));
  });

  itHere(
    `are valid for systemd, and leave services few rights${hasSystemd ? '' : ' (skipped: no systemd-analyze)'}`,
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'units-'));
      for (const unit of units) {
        copyFileSync(join(__dirname, unit), join(folder, unit));
        // The programs are not on this machine.
        const text = read(unit).replaceAll('/usr/bin/node', '/bin/true');
        writeFileSync(join(folder, unit.replace('@.', '@secrets.')), text);
      }
      const files = units.map((unit) => join(folder, unit.replace('@.', '@secrets.')));
      const verified = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
      expect([verified.status, verified.stderr]).toEqual([0, '']);
      for (const unit of ['keystead@secrets.service', 'keystead-backup@secrets.service']) {
        // systemd's exposure level, times ten; a unit without confinement has 96.
        const { status, stdout } = spawnSync(
          'systemd-analyze',
          ['security', '--offline=yes', '--threshold=20', join(folder, unit)],
          { encoding: 'utf8' },
        );
        expect([status, status === 0 ? '' : stdout]).toEqual([0, '']);
      }
      rmSync(folder, { recursive: true });
    },
  );
});
