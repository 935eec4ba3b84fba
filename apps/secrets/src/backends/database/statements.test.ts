import { describe, expect, it } from '@jest/globals';
import { statementsOf } from './statements';

const postgresql = { backslashes: false, dollars: true, backticks: false };
const mssql = { backslashes: false, dollars: false, backticks: false, brackets: true };
const mysql = { backslashes: true, dollars: false, backticks: true };
const words = { name: `o'x"y\`z\\`, password: `p';"\\--` };
const plain = { name: 'v-a-b', password: 'Abc-1', expiration: '2026-01-01 00:00:00+0000' };

describe('the statements of an element', () => {
  it.each([
    ['a; b;', ['a', 'b']],
    [";;  a ';' ; b", ["a ';'", 'b']],
    [`a "x;y"; b`, ['a "x;y"', 'b']],
    ['a -- c; d\n; b', ['a -- c; d', 'b']],
    ['a /* ; /* ; */ ; */; b', ['a /* ; /* ; */ ; */', 'b']],
    ['DO $x$ begin; $y$; end $x$; b', ['DO $x$ begin; $y$; end $x$', 'b']],
    ["a E'\\';'; b", ["a E'\\';'", 'b']],
    ["a '\\'; b", ["a '\\'", 'b']],
    ['CREATE FUNCTION f() BEGIN ATOMIC a; b; END; c', ['CREATE FUNCTION f() BEGIN ATOMIC a; b; END; c']],
    ["a 'END'; b", ["a 'END'", 'b']],
    ["a 'not closed ; ", ["a 'not closed ;"]],
  ])('are split as by PostgreSQL: %s (E9.9)', (text, statements) => {
    expect(statementsOf(text, {}, postgresql)).toEqual(statements);
  });

  it.each([
    ["a '\\';'; b", ["a '\\';'", 'b']],
    ['a `x;y`; b # c; d', ['a `x;y`', 'b # c; d']],
    ['a /* /* ; */; b', ['a /* /* ; */', 'b']],
    ['a $x$; b$x$', ['a $x$', 'b$x$']],
  ])('are split as by MySQL: %s (E9.9)', (text, statements) => {
    expect(statementsOf(text, {}, mysql)).toEqual(statements);
  });

  it.each([
    ['a [x;]]y]; b', ['a [x;]]y]', 'b']],
    ["a N'\\;'';'; b", ["a N'\\;'';'", 'b']],
    ['a /* /* ; */ ; */; b', ['a /* /* ; */ ; */', 'b']],
    ['IF 1 = 1 BEGIN a; b END', ['IF 1 = 1 BEGIN a; b END']],
  ])('are split as by SQL Server: %s (E9.9)', (text, statements) => {
    expect(statementsOf(text, {}, mssql)).toEqual(statements);
  });

  it('have their placeholders filled in, escaped for the quotes around them (E9.8)', () => {
    const text = `"{{name}}" '{{ password }}' E'{{password}}' {{other}}`;
    expect(statementsOf(text, words, postgresql)).toEqual([`"o'x""y\`z\\" 'p'';"\\--' E'p'';"\\\\--' {{other}}`]);
    expect(statementsOf("'{{name}}'@'%' `{{name}}` \"{{password}}\"", words, mysql)).toEqual([
      `'o''x"y\`z\\\\'@'%' \`o'x"y\`\`z\\\` "p';""\\\\--"`,
    ]);
  });

  it('have their placeholders escaped between square brackets (E9.8)', () => {
    expect(statementsOf("[{{name}}] N'{{name}}'", { name: "a]b'c" }, mssql)).toEqual(["[a]]b'c] N'a]b''c'"]);
  });

  it('accept only plain values outside of quotes, and none in comments (E9.8)', () => {
    for (const text of ['ALTER ROLE {{name}}', 'DO $$ {{password}} $$']) {
      expect(() => statementsOf(text, words, postgresql)).toThrow('must be between quotes');
    }
    expect(statementsOf('A {{name}} {{expiration}} -- {{password}}', plain, postgresql)).toEqual([
      'A v-a-b 2026-01-01 00:00:00+0000 -- {{password}}',
    ]);
  });
});
