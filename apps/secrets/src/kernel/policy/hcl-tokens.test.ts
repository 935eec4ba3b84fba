import { describe, expect, it } from '@jest/globals';
import { tokenize } from './hcl-tokens';

/** Tokens as `KIND text line:column`, without the end. */
const tokensOf = (text: string) =>
  tokenize(text)
    .map(({ kind, text: value, at }) => `${kind} ${value} ${at.line}:${at.column}`)
    .slice(0, -1);

/** Dollars before braces, which are written as `@` here. */
const dollars = (text: string) => text.replaceAll('@{', '${');

describe('the tokens of the block notation', () => {
  it.each<[string, string[]]>([
    ['', []],
    [' \t\r\n ', []],
    ['\uFEFFa', ['IDENT a 1:1']],
    ['a\uFEFF', ['IDENT a 1:1', 'ILLEGAL \uFEFF 1:2']],
    ['[]{}', ['LBRACK [ 1:1', 'RBRACK ] 1:2', 'LBRACE { 1:3', 'RBRACE } 1:4']],
    [',=.+-', ['COMMA , 1:1', 'ASSIGN = 1:2', 'PERIOD . 1:3', 'ADD + 1:4', 'SUB - 1:5']],
    ['azAZ_09-.x', ['IDENT azAZ_09-.x 1:1']],
    ['é_ß', ['IDENT é_ß 1:1']],
    ['_', ['IDENT _ 1:1']],
    ['a b\n  c', ['IDENT a 1:1', 'IDENT b 1:3', 'IDENT c 2:3']],
    ['true false True', ['BOOL true 1:1', 'BOOL false 1:6', 'IDENT True 1:12']],
    ['a# b\nc', ['IDENT a 1:1', 'IDENT c 2:1']],
    ['a// b\nc', ['IDENT a 1:1', 'IDENT c 2:1']],
    ['a/b', ['IDENT a 1:1', 'ILLEGAL / 1:2', 'IDENT b 1:3']],
    ['/**/a', ['IDENT a 1:5']],
    ['/***/a', ['IDENT a 1:6']],
    ['/* / * \n ** */a', ['IDENT a 2:7']],
    ['/*/ */a', ['IDENT a 1:7']],
    ['# a', []],
    ['* a', ['ILLEGAL * 1:1', 'IDENT a 1:3']],
    ['0 9 10 -1', ['NUMBER 0 1:1', 'NUMBER 9 1:3', 'NUMBER 10 1:5', 'NUMBER -1 1:8']],
    ['-a', ['SUB - 1:1', 'IDENT a 1:2']],
    ['--1', ['SUB - 1:1', 'NUMBER -1 1:2']],
    ['0x1f 0XaF 0x0', ['NUMBER 31 1:1', 'NUMBER 175 1:6', 'NUMBER 0 1:11']],
    ['1x2', ['NUMBER 1 1:1', 'IDENT x2 1:2']],
    ['0xfg', ['NUMBER 15 1:1', 'IDENT g 1:4']],
    ['1.5 -0.25 1.', ['FLOAT 1.5 1:1', 'FLOAT -0.25 1:5', 'NUMBER 1 1:11', 'PERIOD . 1:12']],
    ['1.a', ['NUMBER 1 1:1', 'PERIOD . 1:2', 'IDENT a 1:3']],
    ['1.5.2', ['FLOAT 1.5 1:1', 'PERIOD . 1:4', 'NUMBER 2 1:5']],
    [
      '1e5 1E5 1e+5 1e-5 1.5e2',
      ['FLOAT 1e5 1:1', 'FLOAT 1E5 1:5', 'FLOAT 1e+5 1:9', 'FLOAT 1e-5 1:14', 'FLOAT 1.5e2 1:19'],
    ],
    ['"" "a b"', ['STRING  1:1', 'STRING a b 1:4']],
    ['"é$" "$$"', ['STRING é$ 1:1', 'STRING $$ 1:6']],
    [String.raw`"\"\\" "\x41\u00e9\U0001F512\U0010ffff"`, [String.raw`STRING "\ 1:1`, 'STRING Aé🔒\u{10ffff} 1:8']],
    ['"@{"}" b', ['STRING @{"} 1:1', 'IDENT b 1:8']],
    ['"a@{x{y}"}z\\n" b', ['STRING a@{x{y}"}z\n 1:1', 'IDENT b 1:16']],
    ['"@{\n}" b', ['STRING @{\n} 1:1', 'IDENT b 2:4']],
    ['<a', ['ILLEGAL < 1:1', 'IDENT a 1:2']],
    ['<<A\nx\n  A\nb', ['HEREDOC x\n 1:1', 'IDENT b 4:1']],
    ['<<A\nA', ['HEREDOC  1:1']],
    ['<<A\n\n A x\nA', ['HEREDOC \n A x\n 1:1']],
    ['<<é_1\nx\né_1', ['HEREDOC x\n 1:1']],
    ['<<-A\n\t\tx\n\ty\nA', ['HEREDOC \tx\ny\n 1:1']],
    ['<<-A\n  x\n\n  y\nA', ['HEREDOC   x\n\n  y\n 1:1']],
    ['<<-A\nA', ['HEREDOC  1:1']],
  ])('of %j are %j', (text, expected) => expect(tokensOf(dollars(text))).toEqual(expected.map(dollars)));

  it('end with one for the end of the text', () => {
    expect(tokenize('a\n').at(-1)).toEqual({ kind: 'EOF', text: '', at: { line: 2, column: 1 } });
  });

  it.each([
    [' /* ', 'At 1:2: comment not terminated'],
    ['/*/', 'At 1:1: comment not terminated'],
    ['/* *', 'At 1:1: comment not terminated'],
    [' 0x', 'At 1:2: illegal hexadecimal number'],
    ['1e', 'At 1:1: illegal number'],
    ['1e+-2', 'At 1:1: illegal number'],
    [' "a', 'At 1:2: literal not terminated'],
    ['"a\n"', 'At 1:3: literal not terminated'],
    ['"@{"', 'At 1:1: literal not terminated'],
    ['"@{}}}\n', 'At 1:7: literal not terminated'],
    [String.raw`"a\'"`, 'At 1:3: illegal char escape'],
    [String.raw`"\x4g"`, 'At 1:2: illegal char escape'],
    [String.raw`"\u00e"`, 'At 1:2: illegal char escape'],
    [String.raw`"\U0011ffff"`, 'At 1:2: illegal char escape'],
    [String.raw`"\U0000041"`, 'At 1:2: illegal char escape'],
    ['\n <<A b\nx\nA b', 'At 2:2: heredoc anchor not found'],
    ['<<\nx\n', 'At 1:1: heredoc anchor not found'],
    ['<<A.\nx\nA.', 'At 1:1: heredoc anchor not found'],
    ['<<.A\nx\n.A', 'At 1:1: heredoc anchor not found'],
    [' <<A\nx', 'At 1:2: heredoc not terminated'],
    ['<<A', 'At 1:1: heredoc not terminated'],
  ])('are not found in %j: %s', (text, message) => expect(() => tokenize(dollars(text))).toThrow(new Error(message)));
});
