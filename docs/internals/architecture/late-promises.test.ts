import { expect, it } from '@jest/globals';
import { latePromises } from './late-promises';

it.each<[string, string, string[]]>([
  ['awaited after something else', 'async () => { const a = ask(); await other(); await a; }', ['a']],
  ['awaited with others, late', 'async () => { const a = list.map(ask); await b(); await Promise.all(a); }', ['a']],
  ['awaited late within a loop', 'async () => { const a = ask(); await b(); for (;;) { await a; } }', ['a']],
  ['awaited first', 'async () => { const a = ask(); await a; await other(); }', []],
  ['awaited together', 'async () => { const a = ask(); await Promise.all([a, other()]); }', []],
  ['caught before', 'async () => { const a = ask(); a.catch(() => {}); await other(); await a; }', []],
  ['no promise: awaited at once', 'async () => { const a = await ask(); await other(); await use(a); }', []],
])('the check finds a promise that is handled late: %s', (_what, text, names) => {
  expect(latePromises(`void (${text});`, false).map(({ name }) => name)).toEqual(names);
});
