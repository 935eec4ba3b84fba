import { describe, expect, it } from '@jest/globals';
import { parseHcl } from './hcl';
import { parseJsonTree } from './json-tree';
import type { Tree } from './policy-tree';

/** A tree as one line: each value is prefixed with its position, as in `1:1{a=1:3"x"}`. */
function textOf(tree: Tree): string {
  const at = `${tree.at.line}:${tree.at.column}`;
  switch (tree.kind) {
    case 'object':
      return `${at}{${tree.items.map((item) => `${item.at.line}:${item.at.column} ${item.keys.join('.')}=${textOf(item.value)}`).join(' ')}}`;
    case 'list':
      return `${at}[${tree.values.map(textOf).join(' ')}]`;
    case 'null':
      return `${at}null`;
    case 'string':
      return `${at}${JSON.stringify(tree.value)}`;
    default:
      return `${at}${tree.value}`;
  }
}

describe('the block notation', () => {
  it.each([
    ['', '1:1{}'],
    ['a = 1', '1:1{1:3 a=1:51}'],
    ['\n a="b"\n', '1:1{2:3 a=2:4"b"}'],
    ['a = 1.5 b = -2 c = true d = false', '1:1{1:3 a=1:51.5 1:11 b=1:13-2 1:18 c=1:20true 1:27 d=1:29false}'],
    ['a = <<X\nb\nX', '1:1{1:3 a=1:5"b\\n"}'],
    ['a = 1, b = 2,', '1:1{1:3 a=1:51 1:10 b=1:122}'],
    ['a "b" c { d = 1 }', '1:1{1:9 a.b.c=1:9{1:13 d=1:151}}'],
    ['"a" { }', '1:1{1:5 a=1:5{}}'],
    ['a = { b = 1, c = 2 } d = 3', '1:1{1:3 a=1:5{1:9 b=1:111 1:16 c=1:182} 1:24 d=1:263}'],
    ['a = []', '1:1{1:3 a=1:5[]}'],
    ['a = [1, "b", true, [2], { c = 3 },]', '1:1{1:3 a=1:5[1:61 1:9"b" 1:14true 1:20[1:212] 1:25{1:29 c=1:313}]}'],
    // As the reference reads them.
    ['a = [,,1,,2]', '1:1{1:3 a=1:5[1:81 1:112]}'],
  ])('reads %j as %s', (text, tree) => expect(textOf(parseHcl(text))).toBe(tree));

  it.each([
    ['= 1', 'At 1:1: no object keys found!'],
    ['{ }', 'At 1:1: expected: IDENT | STRING got: LBRACE'],
    ['a b = 1', 'At 1:5: nested object expected: LBRACE got: ASSIGN'],
    ['a ?', 'At 1:3: illegal character'],
    ['a', "At 1:2: key 'a' expected start of object ('{') or assignment ('=')"],
    ['a { b "c" }', "At 1:11: key 'b c' expected start of object ('{') or assignment ('=')"],
    ['a 1', 'At 1:3: expected: IDENT | STRING | ASSIGN | LBRACE got: NUMBER'],
    ['}', 'At 1:1: expected: IDENT | STRING | ASSIGN | LBRACE got: RBRACE'],
    [', a = 1', 'At 1:1: expected: IDENT | STRING | ASSIGN | LBRACE got: COMMA'],
    ['a = b', 'At 1:5: Unknown token: 1:5 IDENT b'],
    ['a =', 'At 1:4: Unknown token: 1:4 EOF '],
    ['a = }', 'At 1:5: Unknown token: 1:5 RBRACE }'],
    ['a {', 'At 1:4: object expected closing RBRACE got: EOF'],
    ['a = [1 2]', 'At 1:8: error parsing list, expected comma or list end, got: NUMBER'],
    ['a = [[] []]', 'At 1:9: error parsing list, expected comma or list end, got: LBRACK'],
    ['a = [1', 'At 1:7: error parsing list, expected comma or list end, got: EOF'],
    ['a = [b]', 'At 1:6: unexpected token while parsing list: IDENT'],
    ['a = [', 'At 1:6: unexpected token while parsing list: EOF'],
  ])('refuses %j: %s', (text, message) => expect(() => parseHcl(text)).toThrow(new Error(message)));
});

describe('the JSON notation', () => {
  it.each([
    ['{}', '1:1{}'],
    [' \t\r\n { } ', '2:2{}'],
    ['{"a":1}', '1:1{1:2 a=1:61}'],
    ['{"a" : 1 , "b" : 2}', '1:1{1:2 a=1:81 1:12 b=1:182}'],
    ['[]', '1:1[]'],
    ['[ 1 ,2 ]', '1:1[1:31 1:62]'],
    ['[[],{}]', '1:1[1:2[] 1:5{}]'],
    ['[true,false,null,"x",-1]', '1:1[1:2true 1:7false 1:13null 1:18"x" 1:22-1]'],
    ['0', '1:10'],
    ['9.50E-07', '1:19.50E-07'],
    ['123456789012345678901', '1:1123456789012345678901'],
    [String.raw`"a\u0041\u00e9\"\\\/\b\f\n\r\tz"`, '1:1"aAé\\"\\\\/\\b\\f\\n\\r\\tz"'],
    ['"é \u007f"', '1:1"é \u007f"'],
  ])('reads %j as %s', (text, tree) => expect(textOf(parseJsonTree(text))).toBe(tree));

  it.each([
    ['', 'At 1:1: unexpected end of JSON input looking for beginning of value'],
    ['{} x', "At 1:4: invalid character 'x' after the end of the document"],
    ['{}{', "At 1:3: invalid character '{' after the end of the document"],
    ['{a', "At 1:2: invalid character 'a' looking for beginning of object key string"],
    ['{', 'At 1:2: unexpected end of JSON input looking for beginning of object key string'],
    ['{"a"}', "At 1:5: invalid character '}' after object key"],
    ['{"a":1,}', "At 1:8: invalid character '}' looking for beginning of object key string"],
    ['{"a":1;', "At 1:7: invalid character ';' in an object"],
    ['[1,]', "At 1:4: invalid character ']' looking for beginning of value"],
    ['[1', 'At 1:3: unexpected end of JSON input in a list'],
    ['[1}', "At 1:3: invalid character '}' in a list"],
    ['[/', "At 1:2: invalid character '/' looking for beginning of value"],
    ['[:', "At 1:2: invalid character ':' looking for beginning of value"],
    ['truer', "At 1:1: invalid character 't' looking for beginning of value"],
    ['a', "At 1:1: invalid character 'a' looking for beginning of value"],
    ['z', "At 1:1: invalid character 'z' looking for beginning of value"],
    ['`', "At 1:1: invalid character '`' looking for beginning of value"],
    ['-', 'At 1:1: invalid number "-"'],
    ['00', 'At 1:1: invalid number "00"'],
    ['1+1', 'At 1:1: invalid number "1+1"'],
    ['1.e2', 'At 1:1: invalid number "1.e2"'],
    ['1.2.3', 'At 1:1: invalid number "1.2.3"'],
    ['1e2e3', 'At 1:1: invalid number "1e2e3"'],
    ['-x', 'At 1:1: invalid number "-"'],
    [' "a', 'At 1:2: literal not terminated'],
    [' "a\\', 'At 1:4: illegal char escape'],
    ['"a\u001f"', 'At 1:3: invalid control character in string literal'],
    [String.raw`"a\v"`, 'At 1:3: illegal char escape'],
    [String.raw`"a\u123"`, 'At 1:3: illegal char escape'],
    [String.raw`"a\u123g"`, 'At 1:3: illegal char escape'],
  ])('refuses %j: %s', (text, message) => expect(() => parseJsonTree(text)).toThrow(new Error(message)));
});

it.each([
  ['lists', (depth: number) => `a = ${'['.repeat(depth)}${']'.repeat(depth)}`, parseHcl, 32],
  ['objects', (depth: number) => `${'a { '.repeat(depth)}${'}'.repeat(depth)}`, parseHcl, 32],
  ['objects in lists', (depth: number) => `a = ${'[{ b = '.repeat(depth)}1${'}]'.repeat(depth)}`, parseHcl, 16],
  ['lists in JSON', (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`, parseJsonTree, 33],
  ['objects in JSON', (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`, parseJsonTree, 32],
])('%s have a maximum nesting depth', (_, nested, parse, deepest) => {
  expect(() => parse(nested(deepest))).not.toThrow();
  expect(() => parse(nested(deepest + 1))).toThrow(/nesting deeper than 32 levels$/);
});
