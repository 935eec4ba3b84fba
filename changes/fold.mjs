#!/usr/bin/env node
// Folds the files of this folder into CHANGELOG.md under a new release, and deletes them.
//   node changes/fold.mjs 0.2.0 2026-11-23
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const log = path.join(folder, '..', 'CHANGELOG.md');
const [version, day] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version ?? '') || !/^\d{4}-\d\d-\d\d$/.test(day ?? '')) {
  throw new Error('say which release and its day: node changes/fold.mjs 0.2.0 2026-11-23');
}

const kinds = { added: 'Added', changed: 'Changed', removed: 'Removed', fixed: 'Fixed', security: 'Security' };
const services = {
  both: 'Both services',
  secrets: 'Secrets service',
  workspaces: 'Workspace service',
  'command line': 'Command line',
  packaging: 'Packaging',
};

function read(name) {
  const text = readFileSync(path.join(folder, name), 'utf8');
  const [, kind, service, body] = /^kind: (.+)\nservice: (.+)\n\n([\s\S]+)$/.exec(text) ?? [];
  if (!(kind in kinds) || !(service in services)) throw new Error(`changes/${name}: no such kind or service`);
  // Links become relative to the folder above. Lines are indented below their bullet, except blank lines between paragraphs.
  const lines = body.trim().replaceAll('](../', '](').split('\n');
  const below = lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n');
  return { name, kind, service, item: body.startsWith('- ') ? lines.join('\n') : `- ${below.trimStart()}` };
}

const changes = readdirSync(folder)
  .filter((name) => name.endsWith('.md') && name !== 'README.md')
  .sort()
  .map(read);
if (changes.length === 0) throw new Error('there is nothing to fold');

const sections = Object.entries(kinds).flatMap(([kind, title]) => {
  const groups = Object.entries(services).flatMap(([service, name]) => {
    const items = changes.filter((change) => change.kind === kind && change.service === service);
    return items.length === 0 ? [] : [`#### ${name}\n\n${items.map(({ item }) => item).join('\n')}`];
  });
  return groups.length === 0 ? [] : [`### ${title}\n\n${groups.join('\n\n')}`];
});

const head = `# Changelog

What a user can notice, newest release first, in the form of [Keep a Changelog](https://keepachangelog.com/en/1.1.0/); versions are
[semantic](https://semver.org/). Unreleased changes are in [changes](changes/README.md), one file each.
`;
const before = existsSync(log) ? readFileSync(log, 'utf8').slice(head.length) : '';
writeFileSync(log, `${head}\n## ${version} - ${day}\n\n${sections.join('\n\n')}\n${before}`);
for (const { name } of changes) rmSync(path.join(folder, name));
process.stdout.write(`${changes.length} changes folded into CHANGELOG.md\n`);
