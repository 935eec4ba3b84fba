import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const box = mkdtempSync(path.join(tmpdir(), 'keystead-bootstrap-'));
afterAll(() => rmSync(box, { recursive: true }));

/** Runs a module of the local program with plain Node, outside Jest. */
function evaluate(module: string, expression: string): string {
  const file = path.resolve(__dirname, '..', module);
  const code = `import * as m from ${JSON.stringify(file)};
    try { console.log(JSON.stringify((${expression}) ?? null)); } catch (error) { console.log(error.name + ': ' + error.message); }`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' }).trim();
}

describe('the version of Node', () => {
  it.each(['20.19.0', '20.20.2', '22.12.0', '22.20.1', '24.0.0', '25.1.0'])('%s is accepted', (version) => {
    expect(evaluate('bootstrap.mjs', `m.requireNode('${version}')`)).toBe('null');
  });

  it.each(['16.20.2', '18.20.8', '20.18.3', '21.7.3', '22.11.0'])('%s is refused in one line', (version) => {
    expect(evaluate('bootstrap.mjs', `m.requireNode('${version}')`)).toBe(
      `Stop: Node ${version} is too old: install Node 20.19 or newer (22.12 or newer of 22), then start again.`,
    );
  });
});

describe('the Node that runs services and tests', () => {
  const chosen = (env: NodeJS.ProcessEnv) => {
    const file = path.resolve(__dirname, '..', 'bootstrap.mjs');
    const code = `import { prepare } from ${JSON.stringify(file)}; await prepare(); console.log(process.execPath);`;
    const said = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8', env });
    return said.stdout.trim().split('\n').at(-1);
  };

  it('is the pinned one if it exists for the system, regardless of the Node that runs the command', () => {
    const { KEYSTEAD_NODE: _, ...env } = process.env;
    const { optionalDependencies } = JSON.parse(readFileSync(path.resolve(__dirname, '../package.json'), 'utf8'));
    const version = optionalDependencies[`node-${process.platform}-${process.arch}`];
    const node = chosen(env) as string;
    const running = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    expect(running).toBe(version === undefined ? process.version : `v${version}`);
  });

  it('is chosen by KEYSTEAD_NODE', () => {
    expect(chosen({ ...process.env, KEYSTEAD_NODE: '/opt/other/node' })).toBe('/opt/other/node');
  });
});

describe('the programs that run before any package is installed', () => {
  it('import nothing but Node and each other', () => {
    for (const name of [
      'start.mjs',
      'test.mjs',
      'bootstrap.mjs',
      'command.mjs',
      'progress.mjs',
      'system-postgres.mjs',
    ]) {
      const text = readFileSync(path.resolve(__dirname, '..', name), 'utf8');
      const imported = [...text.matchAll(/^import .* from '(.*)';$/gm)].map((match) => match[1]!);
      expect(imported.filter((from) => !from.startsWith('node:') && !from.startsWith('./'))).toEqual([]);
    }
  });

  it('show failures that the reader can fix without a stack, and all others with a stack', () => {
    const progress = path.resolve(__dirname, '../progress.mjs');
    const run = (error: string) => {
      const file = path.join(box, 'fail.mjs');
      writeFileSync(file, `import { giveUp, Stop } from ${JSON.stringify(progress)};\ngiveUp(${error});\n`);
      return spawnSync(process.execPath, [file], { encoding: 'utf8' });
    };
    expect(run("new Stop('do this', 'what was said')")).toMatchObject({
      status: 1,
      stderr: 'what was said\n\ndo this\n',
    });
    const fault = run("new Error('broken')");
    expect(fault.status).toBe(1);
    expect(fault.stderr).toMatch(/^Error: broken\n {4}at /);
  });
});

describe('the command in the folder of the project', () => {
  it('runs the built program from any folder, also through a link, and is ignored by git', () => {
    const project = path.join(box, "a project's folder");
    const dist = path.join(project, 'apps/cli/dist');
    mkdirSync(dist, { recursive: true });
    writeFileSync(path.join(dist, 'main.js'), 'console.log(process.argv.slice(2).join("|"))');
    evaluate('command.mjs', `m.writeCommand(${JSON.stringify(project)})`);
    const link = path.join(box, 'linked');
    symlinkSync(path.join(project, 'keystead'), link);
    for (const command of [path.join(project, 'keystead'), link]) {
      expect(execFileSync(command, ['read', 'a b'], { cwd: '/', encoding: 'utf8' })).toBe('read|a b\n');
    }
    const root = path.resolve(__dirname, '../..');
    expect(spawnSync('git', ['check-ignore', '--quiet', 'keystead'], { cwd: root }).status).toBe(0);
  });
});

describe("the machine's own PostgreSQL", () => {
  it('is found next to the program on PATH if it is new enough', () => {
    const found = JSON.parse(evaluate('system-postgres.mjs', 'm.findSystemPostgres()'));
    if (found === null) return;
    const version = execFileSync(path.join(found, 'postgres'), ['--version'], { encoding: 'utf8' });
    expect(Number(/\s(\d+)/.exec(version)![1])).toBeGreaterThanOrEqual(15);
  });
});
