import { describe, expect, it } from '@jest/globals';
import { LargeText, parseWithLargeTexts } from './large-text';

const parse = (text: string) => parseWithLargeTexts(Buffer.from(text));
const large = 'QUJD'.repeat(20_000);
const textOf = (value: unknown) => (value instanceof LargeText ? Buffer.from(value.bytes).toString() : value);

describe('JSON with large strings', () => {
  it('keeps them as bytes at any depth, and parses everything else as usual', () => {
    const small = { 'a "key"': 'a \\ "text" é', list: [1, null, true, 'x'.repeat(1000)], empty: '' };
    const other = 'x'.repeat(70_000);
    const read = parse(JSON.stringify({ ...small, one: large, in: { two: [other] } })) as Record<string, unknown>;
    expect(read).toMatchObject(small);
    expect([textOf(read.one), textOf((read.in as { two: unknown[] }).two[0])]).toEqual([large, other]);
    expect(read.one).toBeInstanceOf(LargeText);
  });

  it.each([
    ['escaped', `${large}\\/`, `${large}/`],
    ['spaced', `${large} `, `${large} `],
    ['not in ASCII', `${large}é`, `${large}é`],
  ])('parses a long string as a string that is %s', (_how, sent, read) => {
    expect(parse(`["${sent}"]`)).toEqual([read]);
  });

  it.each([
    ['an end', `{"a":"${large}`],
    ['an end after an escape', `{"a":"${large}\\`],
    ['an end of the document', `{"a":"${large}"`],
    ['a comma', `["${large}" "${large}"]`],
  ])('refuses JSON without %s', (_what, text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });

  it('refuses bytes that are not UTF-8, before and after a large text', () => {
    const bad = (before: string, after: string) => Buffer.from(`["${before}","${large}","${after}"]`, 'latin1');
    expect(() => parseWithLargeTexts(bad('\xff', ''))).toThrow('not valid');
    expect(() => parseWithLargeTexts(bad('', '\xff'))).toThrow('not valid');
  });

  it('distinguishes two bodies in the log', () => {
    const restored = [large, large, `${large}AAAA`].map((text) => JSON.stringify(parse(JSON.stringify({ text }))));
    expect(restored[0]).toBe(restored[1]);
    expect(restored[0]).not.toBe(restored[2]);
    expect(restored[0]!.length).toBeLessThan(200);
  });

  it('treats keys as usual, and only its own placeholders as large strings', () => {
    expect(Object.keys(parse(`{"${large}":1}`) as object)).toHaveLength(1);
    expect(parse('{"__proto__":{"a":1}}')).toEqual(JSON.parse('{"__proto__":{"a":1}}'));
  });
});
