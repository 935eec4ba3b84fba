import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitepress';

const dist = path.join(import.meta.dirname, '..', 'dist');
const parts = JSON.parse(readFileSync(path.join(dist, 'navigation.json'), 'utf8'));
const first = ({ items }) => items[0].items[0].link;

/**
 * The whole navigation is next to every page, with each part folded, because people move between parts. The API
 * reference has its own navigation.
 */
const isApi = ({ link }) => link.startsWith('/api/');
const sidebar = {
  '/': parts.map(({ text, items }) => ({
    text,
    collapsed: true,
    items: items.filter((group) => !isApi(group.items[0])),
  })),
  '/api/': parts.flatMap(({ items }) => items.filter((group) => isApi(group.items[0]))),
};

export default defineConfig({
  title: 'Keystead',
  description: 'Secrets and infrastructure workspaces for platform teams, on one PostgreSQL.',
  lang: 'en',
  srcDir: path.join(dist, 'pages'),
  outDir: path.join(dist, 'site'),
  cacheDir: path.join(dist, 'cache'),
  // Relative addresses would require that all pages have the same folder depth, so the site is served from this base.
  base: process.env.KEYSTEAD_DOCS_BASE ?? '/',
  cleanUrls: true,
  metaChunk: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env.KEYSTEAD_DOCS_BASE ?? '/'}mark.svg` }]],
  markdown: { html: false, config: plainBraces },
  themeConfig: {
    logo: '/mark.svg',
    nav: parts.map((part) => ({ text: part.text, link: first(part), activeMatch: `^(${linksOf(part).join('|')})` })),
    sidebar,
    outline: [2, 3],
    search: { provider: 'local', options: { _render: searched } },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
});

/** A pattern for the addresses of a part; pages of the reference share a folder. */
function linksOf({ items }) {
  const links = items.flatMap((group) =>
    group.items.map(({ link }) => (link.startsWith('/api/') ? '/api/' : `${link}$`)),
  );
  return [...new Set(links)].map((link) => link.replaceAll('/', '\\/'));
}

/** The search index contains only headings and summaries of the reference, not its tables. */
async function searched(source, env, markdown) {
  const text = await markdown.render(source, env);
  if (!env.relativePath.startsWith('api/')) return text;
  return text
    .replace(/<table[\s\S]*?<\/table>/g, '')
    .replace(/<p><strong>[\s\S]*?<\/p>/g, '')
    .replace(/<p>Answers:.*?<\/p>/g, '');
}

/** Double braces in text are templates on our pages, not Vue templates of the site. */
function plainBraces(markdown) {
  const { text, code_inline: inline } = markdown.renderer.rules;
  const plain = (html) => html.replaceAll('{{', '&#123;&#123;');
  markdown.renderer.rules.text = (...given) => plain(text(...given));
  markdown.renderer.rules.code_inline = (...given) => plain(inline(...given));
}
