// `npm run docs`: builds the documentation site in `docs/site/dist/site`, with the reference of both APIs and a search
// that calls no other service. The site has separate packages, which are not installed with the services.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openapiDocuments } from './documents.mjs';
import { referenceOf } from './reference.mjs';

const here = import.meta.dirname;
/** The pages below `docs`, by part of the site. Pages for contributors are not part of the site. */
const navigation = JSON.parse(readFileSync(path.join(here, 'navigation.json'), 'utf8'));
const pages = navigation.flatMap(({ groups }) => groups.flatMap((group) => group.pages));
const docs = path.join(here, '..');
const staged = path.join(here, 'dist', 'pages');

/** The title of a page: its first heading, without Markdown. */
const titleOf = (text) => /^# (.+)$/m.exec(text)[1].replaceAll('`', '');

/** Where a page is in the site: the list of a folder is its index. */
const placeOf = (page) => page.replace(/README\.md$/, 'index.md');

/** Links to pages of the site, and pictures, are kept; other links are replaced by their text. */
function withOwnLinks(page, text) {
  const within = new Set(pages);
  const fences = /(^```[\s\S]*?^```$)/m;
  const link = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g;
  return text
    .split(fences)
    .map((part) =>
      part.startsWith('```')
        ? part
        : part.replace(link, (whole, isPicture, label, target) => {
            if (/^(https?:|mailto:|#)/.test(target)) return whole;
            const [file, anchor] = target.split('#');
            const to = path.posix.join(path.posix.dirname(page), file);
            if (/\.(webp|svg)$/.test(to) && existsSync(path.join(docs, to))) {
              cpSync(path.join(docs, to), path.join(staged, isPicture ? to : path.join('public', to)));
              return isPicture ? whole : `[${label}](/${to}){target="_self"}`;
            }
            if (!within.has(to)) return label;
            return `[${label}](${placeOf(target.split('#')[0])}${anchor === undefined ? '' : `#${anchor}`})`;
          }),
    )
    .join('')
    .replace(/ \((\[?\d{4}\]?(, )?)+\)/g, '');
}

function write(file, text) {
  const to = path.join(staged, file);
  mkdirSync(path.dirname(to), { recursive: true });
  writeFileSync(to, text);
}

const linkOf = (page) => `/${placeOf(page).replace(/(index)?\.md$/, '')}`;

rmSync(path.join(here, 'dist'), { recursive: true, force: true });
const titles = {};
for (const page of pages) {
  const text = readFileSync(path.join(docs, page), 'utf8');
  titles[page] = titleOf(text);
  write(placeOf(page), withOwnLinks(page, text));
}
const reference = referenceOf(await openapiDocuments());
for (const { file, text } of reference) write(file, text);

/** The navigation in the format of the theme; the API reference is added to the part of that name. */
const parts = navigation.map(({ text, groups }) => ({
  text,
  items: groups.map((group) => ({
    text: group.text,
    items: group.pages.map((page) => ({ text: titles[page], link: linkOf(page) })),
  })),
}));
const last = parts.at(-1);
for (const api of [...new Set(reference.map((one) => one.api))]) {
  last.items.push({
    text: api,
    collapsed: true,
    items: reference.filter((one) => one.api === api).map(({ title, file }) => ({ text: title, link: linkOf(file) })),
  });
}
writeFileSync(path.join(here, 'dist', 'navigation.json'), JSON.stringify(parts));
cpSync(path.join(docs, '..', 'apps', 'console', 'src', 'design', 'mark.svg'), path.join(staged, 'public', 'mark.svg'));
write('index.md', homeOf(parts));

const npm = (...args) => execFileSync('npm', args, { cwd: here, stdio: 'inherit' });
if (!existsSync(path.join(here, 'node_modules', 'vitepress'))) npm('ci', '--no-audit', '--no-fund');
execFileSync(process.execPath, [path.join(here, 'node_modules', 'vitepress', 'bin', 'vitepress.js'), 'build', here], {
  cwd: here,
  stdio: 'inherit',
});

function homeOf(all) {
  const about = {
    Start: 'Both services in a few minutes, the command line, and how to move in from another server.',
    Secrets: 'Policies, logins and engines: who may read what, and credentials on demand.',
    Workspaces: 'Organizations, teams, state and runs of Terraform and OpenTofu.',
    Operate: 'Install, back up, watch, upgrade, and what is defended.',
    Reference: 'Every command, client and API operation.',
  };
  const first = ({ items }) => items[0].items[0].link;
  return `---
layout: home
title: Keystead
titleTemplate: Secrets and infrastructure workspaces
hero:
  name: Keystead
  text: Secrets and infrastructure workspaces for platform teams
  tagline: The HTTP APIs of Vault and HCP Terraform, on one PostgreSQL.
  image: { src: /mark.svg, alt: '' }
  actions:
    - { theme: brand, text: Try it, link: /try-it }
    - { theme: alt, text: All guides, link: /guides/ }
features:
${all.map((part) => `  - { title: ${part.text}, details: '${about[part.text]}', link: ${first(part)} }`).join('\n')}
---
`;
}
