import { expect, it } from '@jest/globals';
import { startWorkspaces } from './start-workspaces';

const workspaces = startWorkspaces();
const names = (count: number) => Array.from({ length: count }, (_, at) => `t${at}`);
const each = (count: number, name: (at: number) => string) => Array.from({ length: count }, (_, at) => name(at));

// The database plans every condition: for a thousand conditions this took half a minute, in which it answered no other
// request.
it.each<[string, (count: number) => string]>([
  ['tags', (count) => `workspaces?search[tags]=${names(count)}`],
  ['excluded tags', (count) => `workspaces?search[exclude-tags]=${names(count)}`],
  ['key-value tags', (count) => `workspaces?${each(count, (at) => `filter[tagged][${at}][key]=t${at}`).join('&')}`],
  ['tags of projects', (count) => `projects?${each(count, (at) => `filter[tagged][${at}][key]=t${at}`).join('&')}`],
  [
    'conditions of the explorer',
    (count) =>
      `explorer?type=workspaces&${each(count, (at) => `filter[${at}][modules][contains][0]=m${at}`).join('&')}`,
  ],
])('a list accepts fifty %s, and no more', async (_what, query) => {
  const { status } = await workspaces.admin.get('organizations/acme');
  if (status === 404) await workspaces.organization('acme');
  await workspaces.admin.get(`organizations/acme/${query(50)}`).expect(200);
  const { body } = await workspaces.admin.get(`organizations/acme/${query(51)}`).expect(400);
  expect(body.errors[0].detail).toContain('has too many members (maximum is 50)');
});
