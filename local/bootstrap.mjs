// Turns a fresh clone into a built tree with only Node and git: the pinned pnpm, the packages, the generated clients,
// the build. Each step stores a digest of its inputs, and is skipped while they are unchanged.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeCommand } from './command.mjs';
import { Stop, step } from './progress.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const pnpmVersion = manifest.packageManager.split('@')[1];
const tools = path.join(root, '.tools');
const toolsBin = path.join(tools, 'node_modules', '.bin');
const stamps = path.join(root, 'node_modules', '.keystead');

/** Node before 20.19, 21, and 22 before 22.12 cannot load ES modules through require. */
export function requireNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  throw new Stop(`Node ${version} is too old: install Node 20.19 or newer (22.12 or newer of 22), then start again.`);
}

/**
 * Prepares the tree for tests: installs packages, generates clients, and selects the pinned Node for child processes.
 */
export async function prepare() {
  requireNode();
  await install();
  process.execPath = chosenNode();
  await buildStep('generated', generateInputs(), ['apps/secrets/src/generated', 'apps/workspaces/src/generated'], () =>
    step('generating the database clients', () => runEverywhere('generate')),
  );
}

/** Prepares the tree for `npm start`. */
export async function build() {
  await prepare();
  const outputs = [
    'apps/secrets/dist/main.js',
    'apps/workspaces/dist/main.js',
    'apps/cli/dist/main.js',
    'apps/console/dist/ui/secrets.html',
    'local/dist/main.js',
  ];
  await buildStep('built', buildInputs(), outputs, () => step('building', () => runEverywhere('build')));
  writeCommand(root);
}

/**
 * The Node that runs services and tests: `KEYSTEAD_NODE`, or the pinned one from the packages, or, if that does not run
 * here (another system or C library), the current one.
 */
function chosenNode() {
  if (process.env.KEYSTEAD_NODE) return process.env.KEYSTEAD_NODE;
  const ownNode = path.join(root, 'local', 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return spawnSync(ownNode, ['--version']).status === 0 ? ownNode : process.execPath;
}

/** Runs a script in every package that has it, one per processor at a time. The scripts do not depend on each other. */
async function runEverywhere(name) {
  const folders = ['apps', 'packages'].flatMap((folder) =>
    readdirSync(path.join(root, folder)).map((entry) => path.join(root, folder, entry)),
  );
  const waiting = [...folders, path.join(root, 'local')].flatMap((folder) => {
    const file = path.join(folder, 'package.json');
    const script = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).scripts?.[name] : undefined;
    return script ? [{ folder, script }] : [];
  });
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      // Through the shell: starting a package manager takes longer than building most packages.
      const bin = path.join(next.folder, 'node_modules', '.bin');
      await run('sh', ['-c', next.script], { PATH: `${bin}${path.delimiter}${toolEnvironment().PATH}` }, next.folder);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

/** Runs a program, by default in the project's folder; its output is shown only if it fails. */
export function run(command, args, extra = {}, cwd = root) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...toolEnvironment(), ...extra },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const listen = (chunk) => {
      output = (output + chunk).slice(-20_000);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('error', (error) => reject(new Stop(`${path.basename(command)} could not be run: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(output);
      const where = cwd === root ? '' : ` in ${path.relative(root, cwd)}`;
      const what = [path.basename(command), ...args].join(' ');
      reject(
        new Stop(`\`${what}\`${where} failed (${signal ?? `exit code ${code}`}); its last words are above.`, output),
      );
    });
  });
}

/** The environment of tools: the pinned pnpm first on PATH, and no variables of the calling npm. */
export function toolEnvironment() {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^npm_(package|lifecycle|command|execpath)/i.test(name),
  );
  const env = Object.fromEntries(entries);
  env.PATH = [toolsBin, path.join(root, 'node_modules', '.bin'), path.dirname(process.execPath), process.env.PATH].join(
    path.delimiter,
  );
  return env;
}

async function install() {
  const manifests = ['apps', 'packages'].flatMap((folder) => filesBelow(folder, (name) => name === 'package.json', 1));
  const inputs = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'local/package.json', 'bench/package.json'];
  await buildStep(
    'installed',
    [...inputs, ...manifests],
    ['node_modules/.pnpm', 'node_modules/.bin/turbo'],
    async () => {
      await step(`fetching pnpm ${pnpmVersion}`, fetchPnpm);
      await step('installing packages', () =>
        // With CI set, pnpm does not ask before it replaces a node_modules folder that another tool created.
        run(path.join(toolsBin, 'pnpm'), ['install', '--frozen-lockfile', '--reporter=append-only'], { CI: 'true' }),
      );
    },
  );
}

async function fetchPnpm() {
  if (installedVersion() === pnpmVersion) return false;
  mkdirSync(tools, { recursive: true });
  const args = ['install', '--prefix', tools, '--no-audit', '--no-fund', '--no-save', `pnpm@${pnpmVersion}`];
  const npm = besideNode('npm');
  await run(npm.command, [...npm.args, ...args]);
  if (installedVersion() !== pnpmVersion) throw new Stop(`npm did not install pnpm ${pnpmVersion} into .tools.`);
}

function installedVersion() {
  try {
    return JSON.parse(readFileSync(path.join(tools, 'node_modules', 'pnpm', 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

/** The npm that started us, or the one bundled with this Node, or the one on PATH. */
function besideNode(name) {
  const caller = process.env.npm_execpath ?? '';
  if (/npm-cli\.[cm]?js$/.test(caller) && existsSync(caller)) return { command: process.execPath, args: [caller] };
  const bundled = path.join(path.dirname(process.execPath), name);
  return { command: existsSync(bundled) ? bundled : name, args: [] };
}

/** Runs `work` unless its outputs exist and were built from exactly these inputs on this kind of machine. */
async function buildStep(name, inputs, outputs, work) {
  const file = path.join(stamps, name);
  const stamp = stampOf(inputs);
  const current = existsSync(file) && readFileSync(file, 'utf8') === stamp;
  if (current && outputs.every((output) => existsSync(path.join(root, output)))) return;
  rmSync(file, { force: true });
  await work();
  mkdirSync(stamps, { recursive: true });
  writeFileSync(file, stamp);
}

function stampOf(inputs) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`);
  for (const file of [...inputs].sort()) {
    const full = path.join(root, file);
    if (existsSync(full)) hash.update(`\0${file}\0`).update(readFileSync(full));
  }
  return hash.digest('hex');
}

function generateInputs() {
  return [...filesBelow('prisma', (name) => /\.(prisma|ts|mjs)$/.test(name)), 'pnpm-lock.yaml'];
}

function buildInputs() {
  const sources = ['apps', 'packages', 'local'].flatMap((folder) =>
    filesBelow(folder, (name) => /\.(tsx?|json|css|html|mjs|svg)$/.test(name) && !name.endsWith('.test.ts')),
  );
  return [...sources, ...generateInputs(), 'tsconfig.base.json', 'turbo.json'];
}

function filesBelow(folder, matches, depth = Number.POSITIVE_INFINITY) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return matches(entry.name) ? [file] : [];
    const skipped = ['node_modules', 'dist', 'generated', '.turbo'].includes(entry.name);
    return skipped || depth < 1 ? [] : filesBelow(file, matches, depth - 1);
  });
}
