import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';

const docs = path.join(__dirname, '..');
const read = (file: string) => readFileSync(path.join(__dirname, file), 'utf8');
const navigation: { text: string; groups: { pages: string[] }[] }[] = JSON.parse(read('navigation.json'));
const pages = navigation.flatMap(({ groups }) => groups.flatMap((group) => group.pages));

it('the documentation site has every page for users once, and none for contributors', () => {
  const written = ['', 'guides/', 'clients/'].flatMap((folder) =>
    readdirSync(path.join(docs, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => folder + file),
  );
  expect(pages.toSorted()).toEqual(written.toSorted());
  expect(navigation.map(({ text }) => text)).toEqual(['Start', 'Secrets', 'Workspaces', 'Operate', 'Reference']);
});

it('the packages of the site are installed from their lock file, and not with the services', () => {
  const { devDependencies } = JSON.parse(read('package.json'));
  expect(JSON.parse(read('package-lock.json')).packages[''].devDependencies).toEqual(devDependencies);
  expect(readFileSync(path.join(docs, '..', 'pnpm-lock.yaml'), 'utf8')).not.toContain('vitepress');
});
