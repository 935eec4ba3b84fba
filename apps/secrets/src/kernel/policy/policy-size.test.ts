import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { parsePolicy } from './parse-policy';
import { parseBounded, sizeOf } from './policy-size';

const tooMuch = 'holds more than 10000 paths, parameter values and methods';
const refusal = new Refusal('malformed', `'policy' ${tooMuch}`, [{ path: ['policy'], message: tooMuch }]);

describe('the size of a policy', () => {
  it.each<[string, number]>([
    ['', 0],
    ['path "a" { capabilities = ["read", "list"] }', 1],
    ['path "a" { capabilities = ["read"] }\npath "b" { capabilities = ["deny"] }', 2],
    ['path "a" { capabilities = ["read"]\nmfa_methods = ["x", "y"] }', 3],
    ['path "a" { capabilities = ["update"]\nrequired_parameters = ["x", "y", "z"] }', 4],
    ['path "a" { capabilities = ["update"]\nallowed_parameters = { x = [], y = ["1", 2, true] } }', 6],
    ['path "a" { capabilities = ["update"]\ndenied_parameters = { x = ["1"] } }', 3],
    ['path "a" { capabilities = ["update"]\nallowed_parameters = { x = [["1", "2"]] } }', 5],
    ['path "a" { capabilities = ["update"]\nallowed_parameters = { x = [{ k = "1" }] } }', 4],
  ])('%s counts %i', (text, size) => expect(sizeOf(parsePolicy(text))).toBe(size));

  it('is bounded when a policy is written', () => {
    const block = (values: number) =>
      `path "a" { capabilities = ["update"]\nallowed_parameters = { x = [${Array(values).fill('1').join(',')}] } }`;
    expect(sizeOf(parseBounded(block(9_998)))).toBe(10_000);
    expect(() => parseBounded(block(9_999))).toThrow(refusal);
  });

  it('is bounded by the characters in its text before the text is parsed', () => {
    const marked = (count: number) => `# ${'{'.repeat(count)}\npath "a" { capabilities = ["read"] }`;
    // The block has two more.
    expect(sizeOf(parseBounded(marked(59_998)))).toBe(1);
    expect(() => parseBounded(marked(59_999))).toThrow(refusal);
    expect(() => parseBounded(`# ${','.repeat(60_001)}`)).toThrow(refusal);
    expect(() => parseBounded(`# ${'['.repeat(60_001)}`)).toThrow(refusal);
    expect(sizeOf(parseBounded(`# ${'}'.repeat(60_001)}`))).toBe(0);
    // A policy that is also too long is refused for its length.
    expect(() => parseBounded(','.repeat(512 * 1024 + 1))).toThrow("'policy' is longer than");
  });
});
