import { describe, expect, it } from '@jest/globals';
import { LargeText, parseWithLargeTexts } from './large-text';

const parse = (text: string) => parseWithLargeTexts(Buffer.from(text));
const large = 'QUJD'.repeat(20_000);
const shown = (value: unknown) => (value instanceof LargeText ? Buffer.from(value.bytes).toString() : value);

describe('JSON with large texts', () => {
  it('leaves them as bytes, wherever they stand, and reads all else as always', () => {
    const small = { 'a "key"': 'a \\ "text" é', list: [1, null, true, 'x'.repeat(1000)], empty: '' };
    const other = 'x'.repeat(70_000);
    const read = parse(JSON.stringify({ ...small, one: large, in: { two: [other] } })) as Record<string, unknown>;
    expect(read).toMatchObject(small);
    expect([shown(read.one), shown((read.in as { two: unknown[] }).two[0])]).toEqual([large, other]);
    expect(read.one).toBeInstanceOf(LargeText);
  });

  it.each([
    ['escaped', `${large}\\/`, `${large}/`],
    ['spaced', `${large} `, `${large} `],
    ['in other letters', `${large}é`, `${large}é`],
  ])('reads a long text as a text that is %s', (_how, sent, read) => {
    expect(parse(`["${sent}"]`)).toEqual([read]);
  });

  it.each([
    ['an end', `{"a":"${large}`],
    ['an end after an escape', `{"a":"${large}\\`],
    ['an end of the document', `{"a":"${large}"`],
    ['a comma', `["${large}" "${large}"]`],
  ])('refuses what lacks %s', (_what, text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });

  it('refuses bytes that are not UTF-8, before and after a large text', () => {
    const bad = (before: string, after: string) => Buffer.from(`["${before}","${large}","${after}"]`, 'latin1');
    expect(() => parseWithLargeTexts(bad('\xff', ''))).toThrow('not valid');
    expect(() => parseWithLargeTexts(bad('', '\xff'))).toThrow('not valid');
  });

  it('tells two bodies apart where they are written down', () => {
    const written = [large, large, `${large}AAAA`].map((text) => JSON.stringify(parse(JSON.stringify({ text }))));
    expect(written[0]).toBe(written[1]);
    expect(written[0]).not.toBe(written[2]);
    expect(written[0]!.length).toBeLessThan(200);
  });

  it('takes a key like any other, and only its own placeholders for large texts', () => {
    expect(Object.keys(parse(`{"${large}":1}`) as object)).toHaveLength(1);
    expect(parse('{"__proto__":{"a":1}}')).toEqual(JSON.parse('{"__proto__":{"a":1}}'));
  });
});
