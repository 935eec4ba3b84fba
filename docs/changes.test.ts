import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const folder = join(__dirname, '..', 'changes');
const form =
  /^kind: (added|changed|removed|fixed|security)\nservice: (both|secrets|workspaces|command line|packaging)\n\n\S/;

it('every change says what kind it is and of which service, so that a release can fold it into the changelog', () => {
  const changes = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(changes.filter((name) => !form.test(readFileSync(join(folder, name), 'utf8')))).toEqual([]);
});
