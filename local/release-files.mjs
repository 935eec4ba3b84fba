#!/usr/bin/env node
// `npm run release-files -- --into FOLDER [--tag v1.2.3] [--chart]`: the files of a release. The command line as one
// file and as an npm package, the chart if requested (helm packs it), and the digests of all files. Needs dependencies,
// no build.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './bootstrap.mjs';
import { giveUp, Stop } from './progress.mjs';

const chart = path.join(root, 'docs', 'deploy', 'helm', 'keystead');
const read = (...parts) => readFileSync(path.join(root, ...parts), 'utf8');

/** The version of the release. Throws if its parts or the tag have different versions. */
function versionOf(tag) {
  const { version } = JSON.parse(read('package.json'));
  const others = {
    'apps/cli/package.json': JSON.parse(read('apps', 'cli', 'package.json')).version,
    'version of Chart.yaml': /^version: (.+)$/m.exec(read('docs/deploy/helm/keystead/Chart.yaml'))?.[1],
    'appVersion of Chart.yaml': /^appVersion: "?([^"\n]+)"?$/m.exec(read('docs/deploy/helm/keystead/Chart.yaml'))?.[1],
    ...(tag === undefined ? {} : { 'the tag': tag.replace(/^v/, '') }),
  };
  for (const [where, other] of Object.entries(others)) {
    if (other !== version) throw new Stop(`package.json says ${version}, ${where} says ${other}`);
  }
  if (tag !== undefined && !read('CHANGELOG.md').includes(`## ${version}`)) {
    throw new Stop(`CHANGELOG.md has nothing of ${version}: fold the changes first`);
  }
  return version;
}

/** The command line as a package that only needs Node. */
function pack(program, version, into) {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-package-'));
  try {
    const { description, license, engines } = JSON.parse(read('package.json'));
    const bin = { keystead: 'keystead.cjs' };
    const about = { name: 'keystead', version, description, license, engines, bin, files: [bin.keystead] };
    writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
    copyFileSync(program, path.join(folder, bin.keystead));
    chmodSync(path.join(folder, bin.keystead), 0o755);
    copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
    copyFileSync(path.join(root, 'docs', 'guides', 'command-line.md'), path.join(folder, 'README.md'));
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts'], { cwd: folder, stdio: 'ignore' });
    // npm and helm would give the package and the chart the same file name.
    copyFileSync(path.join(folder, `keystead-${version}.tgz`), path.join(into, `keystead-npm-${version}.tgz`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

try {
  const { values } = parseArgs({
    options: { into: { type: 'string' }, tag: { type: 'string' }, chart: { type: 'boolean', default: false } },
  });
  if (values.into === undefined) throw new Stop('--into names the folder for the files');
  const version = versionOf(values.tag);
  const into = path.resolve(values.into);
  mkdirSync(into, { recursive: true });
  if (readdirSync(into).length > 0) throw new Stop(`${into} is not empty`);
  const program = path.join(into, 'keystead.cjs');
  execFileSync(process.execPath, [path.join(root, 'apps', 'cli', 'bundle.mjs'), program], { stdio: 'inherit' });
  pack(program, version, into);
  if (values.chart) {
    execFileSync('helm', ['lint', '--strict', chart, '--set', 'image.registry=registry.example.com'], {
      stdio: 'inherit',
    });
    execFileSync('helm', ['package', chart, '--destination', into], { stdio: 'inherit' });
  }
  const sums = readdirSync(into)
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(path.join(into, name)))
          .digest('hex')}  ${name}\n`,
    );
  writeFileSync(path.join(into, 'SHA256SUMS'), sums.join(''));
  process.stdout.write(sums.join(''));
} catch (error) {
  giveUp(error);
}
