import { describe, expect, it } from '@jest/globals';
import { formatPolicy } from './policy-format';

describe('the form of a policy', () => {
  it('has indentation, single spaces and single empty lines, and keeps comments, strings and lines', () => {
    const ugly = `# who reads


path   "kv/data/*"   {
capabilities=["read",   "list"]   // both
      allowed_parameters = {
"a b"=[ ]
  }
}
path "x" {  policy="write" }
/* the
   end */
`;
    const fine = `# who reads

path "kv/data/*" {
  capabilities = ["read", "list"] // both
  allowed_parameters = {
    "a b" = []
  }
}
path "x" { policy = "write" }
/* the
   end */
`;
    expect(formatPolicy(ugly)).toBe(fine);
    expect(formatPolicy(fine)).toBe(fine);
    expect(formatPolicy('path "a" {}')).toBe('path "a" {}\n');
  });

  it('does not change a list over several lines and a long string', () => {
    const text =
      'path "a" {\n  capabilities = [\n    "read",\n    "list",\n  ]\n  comment = <<X\n   as } it is\nX\n}\n';
    expect(formatPolicy(text)).toBe(text);
  });

  it('of a policy in JSON is formatted JSON', () => {
    expect(formatPolicy('{"path":{"a":{"capabilities":["read"]}}}')).toContain('\n  "path": {\n');
    expect(() => formatPolicy('{"path":')).toThrow('not JSON');
  });

  it.each([
    ['path "a" {', 'line 1: { is not closed'],
    ['path "a" {\n]', 'line 2: ] closes nothing'],
    ['path "a', 'line 1: '],
    ['}', 'line 1: } closes nothing'],
  ])('does not exist for %j, which is not a policy', (text, message) => {
    expect(() => formatPolicy(text)).toThrow(message);
  });
});
