import { describe, expect, it } from '@jest/globals';
import { isRefusal } from '@keystead/refusal';
import { propertySettings } from '@keystead/testing';
import * as fc from 'fast-check';
import { defaultPolicyText, wrappingPolicyText } from './built-in';
import { maxPolicyBytes, parsePolicy } from './parse-policy';
import { capabilityNames } from './types';

fc.configureGlobal(propertySettings);

/** The message of the refusal of a policy. */
function refusal(text: string): string {
  try {
    parsePolicy(text);
  } catch (error) {
    if (isRefusal(error) && error.kind === 'malformed') return error.message;
    throw error;
  }
  throw new Error('accepted');
}

describe('the values of a policy', () => {
  /** The values of one parameter. */
  const values = (text: string) =>
    parsePolicy(`path "a" { allowed_parameters = { x = ${text} } }`).rules[0]!.allowedParameters!.get('x');
  const inJson = (text: string) =>
    parsePolicy(`{"path":{"a":{"allowed_parameters":{"x":${text}}}}}`).rules[0]!.allowedParameters!.get('x');

  it.each<[string, unknown]>([
    ['[0x1F, 0Xff]', [{ number: '31' }, { number: '255' }]],
    ['[1E+5, 1e-5, 2e3, -0.5]', [{ number: '1E+5' }, { number: '1e-5' }, { number: '2e3' }, { number: '-0.5' }]],
    [String.raw`["\x41\u00e9\U0001F600\a\b\f\v\n\r\t\\\""]`, ['Aé😀\u0007\b\f\v\n\r\t\\"']],
    ['["a$b"]', ['a$b']],
    // Braces after a dollar are kept with their content.
    ['["@{ {"x"}\\n }y"]'.replace('@', '$'), ['@{ {"x"}\\n }y'.replace('@', '$')]],
  ])('%s is %j', (text, expected) => expect(values(text)).toEqual(expected));

  it.each<[string, string]>([
    ['[0x]', 'illegal hexadecimal number'],
    ['[0xg]', 'illegal hexadecimal number'],
    ['[1e]', 'illegal number'],
    ['[1e+]', 'illegal number'],
    [String.raw`["\q"]`, 'illegal char escape'],
    [String.raw`["\x4"]`, 'illegal char escape'],
    [String.raw`["\U00110000"]`, 'illegal char escape'],
    ['["a\n"]', 'literal not terminated'],
    ['["a', 'literal not terminated'],
  ])('%j is refused: %s', (text, because) => {
    expect(refusal(`path "a" { allowed_parameters = { x = ${text} } }`)).toContain(because);
  });

  it('may be long strings of several lines, with or without their indentation', () => {
    const text = (mark: string) => `path "a" {\n  comment = ${mark}END\n    one\n      two\n  END\n}`;
    const comment = (mark: string) => parsePolicy(text(mark)).rules[0]!.comment;
    expect(comment('<<')).toBe('    one\n      two\n');
    expect(comment('<<-')).toBe('one\n  two\n');
    expect(parsePolicy('path "a" {\n comment = <<END\nEND\n}').rules[0]!.comment).toBe('');
    expect(parsePolicy('path "a" {\n comment = <<END\r\nx\r\nEND\r\n}').rules[0]!.comment).toBe('x\r\n');
    expect(refusal('path "a" {\n comment = <<END\nx')).toContain('heredoc not terminated');
    expect(refusal('path "a" {\n comment = <<E ND\nx')).toContain('heredoc anchor not found');
  });

  it.each<[string, unknown]>([
    [String.raw`["\u00e9\b\f\n\r\t\/\\\""]`, ['é\b\f\n\r\t/\\"']],
    ['[0, -1, 1.5, 1e5, 1E-5, 2e+3]', ['0', '-1', '1.5', '1e5', '1E-5', '2e+3'].map((number) => ({ number }))],
    ['[true, false]', [true, false]],
    ['[ ]', []],
  ])('in JSON %s is %j', (text, expected) => expect(inJson(text)).toEqual(expected));

  it.each<[string, string]>([
    ['[nil]', "invalid character 'n' looking for beginning of value"],
    ['[?]', 'looking for beginning of value'],
    ['["a', 'literal not terminated'],
    ['["a\n"]', 'invalid control character in string literal'],
    [String.raw`["\u12"]`, 'illegal char escape'],
    [String.raw`["\x"]`, 'illegal char escape'],
    ['[01]', 'invalid number "01"'],
    ['[1.]', 'invalid number "1."'],
    ['[.5]', 'looking for beginning of value'],
    ['[1e]', 'invalid number "1e"'],
    ['[1 2]', 'in a list'],
    ['{"a" 1}', 'after object key'],
    ['{a:1}', 'looking for beginning of object key string'],
    ['{"a":1 "b":2}', 'in an object'],
    ['[null]', 'null is not a parameter value'],
  ])('in JSON %j is refused: %s', (text, because) => {
    expect(refusal(`{"path":{"a":{"allowed_parameters":{"x":${text}}}}}`)).toContain(because);
  });
});

describe('policy parser', () => {
  it('reads blocks with comments, all value types, commas and trailing commas', () => {
    const { rules } = parsePolicy(`
      # hash
      // slashes
      /* and
         blocks */
      name = "mine"
      path "/sec/a" {
        capabilities = ["read", "list",] // trailing
        "comment" = "why",
        allowed_parameters = { "A" = [1, -2.5e3, true, "x"], b = [] }
        min_wrapping_ttl = 60
        max_wrapping_ttl = "1h30m"
        mfa_methods = ["m"]
        expiration = "2030-01-31"
        pagination_limit = 5
        list_scan_response_keys_filter_path = "{{ .path }}{{ .key }}"
      }`);
    expect(rules).toHaveLength(1);
    expect(rules[0]).toMatchObject({
      pattern: 'sec/a',
      line: 7,
      comment: 'why',
      minWrappingSeconds: 60,
      maxWrappingSeconds: 5_400,
      mfaMethods: ['m'],
      expiresAtMs: Date.UTC(2030, 0, 31),
      paginationLimit: 5,
    });
    expect(capabilityNames(rules[0]!.capabilities)).toEqual(['list', 'read']);
    expect([...rules[0]!.allowedParameters!]).toEqual([
      ['a', [{ number: '1' }, { number: '-2.5e3' }, true, 'x']],
      ['b', []],
    ]);
  });

  it.each([
    ['an object of blocks', '{"path":{"x":{"capabilities":["read"]}}}'],
    ['a list of objects', ' \n{"path":[{"x":{"capabilities":["read"]}}]}'],
    ['a list of bodies', '{"path":{"x":[{"capabilities":["read"]}]}}'],
    ['a block', 'path "x" { capabilities = ["read"] }'],
    ['an identifier as pattern', 'path x { capabilities = ["read"] }'],
    ['an assignment', 'path = { "x" = { capabilities = ["read"] } }'],
    ['a heredoc', 'path "x" {\n comment = <<EOT\nline "one"\nEOT\n capabilities = ["read"] }'],
    ['a byte order mark', '\uFEFFpath "x" { capabilities = ["read"] }'],
    ['escapes', 'path "\\u0078" { capabilities = ["re\\x61d"] }'],
    ['JSON escapes', '{"path":{"\\u0078":{"capabilities":["read"],"comment":null}}}'],
  ])('accepts %s', (_, text) => {
    const { rules } = parsePolicy(text);
    expect(rules.map(({ pattern, capabilities }) => [pattern, capabilityNames(capabilities)])).toEqual([
      ['x', ['read']],
    ]);
  });

  it('accepts a policy without any rule', () => {
    expect(parsePolicy('# nothing')).toEqual({ rules: [], templated: false });
    expect(parsePolicy('{}').rules).toEqual([]);
  });

  it.each([
    ['path "x" { capabilities = ["bogus"] }', 'path "x": invalid capability "bogus"'],
    ['path "x" { capabilities = ["toString"] }', 'path "x": invalid capability "toString"'],
    ['path "x" { policy = "bogus" }', 'path "x": invalid policy "bogus"'],
    ['path "x" {{ }', 'At 1:11: expected: IDENT | STRING got: LBRACE'],
    ['path "x" { foo = 1 }', '1 error occurred:\n\t* path "x": invalid key "foo" on line 1\n\n'],
    [
      'path "x" {\n foo = 1\n bar = 2 }',
      '2 errors occurred:\n\t* path "x": invalid key "foo" on line 2\n\t* path "x": invalid key "bar" on line 3\n\n',
    ],
    ['paths "x" { }', '1 error occurred:\n\t* invalid key "paths" on line 1\n\n'],
    ['path "x+*" { policy = "read" }', `path "x+*": invalid use of wildcards ('+*' is forbidden)`],
    [
      'path "x" { min_wrapping_ttl = "2m" max_wrapping_ttl = "1m" }',
      'max_wrapping_ttl cannot be less than min_wrapping_ttl',
    ],
    ['path "x" { min_wrapping_ttl = "soon" }', 'path "x": error parsing min_wrapping_ttl on line 1'],
    ['path "x" { max_wrapping_ttl = -1 }', 'path "x": error parsing max_wrapping_ttl on line 1'],
    ['path "x" { max_wrapping_ttl = "99999999999999d" }', 'path "x": error parsing max_wrapping_ttl on line 1'],
    ['path "x" { capabilities = "read" }', 'path "x": capabilities must be a list of strings on line 1'],
    ['path "x" { capabilities = [1] }', 'path "x": capabilities must be a list of strings on line 1'],
    ['path "x" { allowed_parameters = ["a"] }', 'path "x": allowed_parameters must be an object of lists on line 1'],
    ['path "x" { denied_parameters = { a = 1 } }', 'path "x": denied_parameters must be an object of lists on line 1'],
    [
      'path "x" { expiration = "tomorrow" }',
      'path "x": expiration must be a time such as 2030-01-31T12:00:00Z on line 1',
    ],
    [
      'path "x" { pagination_limit = -1 }',
      'path "x": pagination_limit must be a whole number, zero or greater on line 1',
    ],
    [
      'path "x" { list_scan_response_keys_filter_path = "{{ .nope }}" }',
      'path "x": list_scan_response_keys_filter_path is not a template of .path and .key on line 1',
    ],
    ['path "x" { comment = "a"\n comment = "b" }', 'path "x": key "comment" occurs twice on line 2'],
    ['path "x" "y" { }', 'path "x" has more than one label on line 1'],
    [
      'path "{{identity" { }',
      'path "{{identity": failed to validate policy templating: unbalanced templating characters',
    ],
    ['path "a}}" { }', 'path "a}}": failed to validate policy templating: unbalanced templating characters'],
    ['path "{{ }}" { }', 'path "{{ }}": failed to validate policy templating: empty template'],
    ['path "x" {', 'At 1:11: object expected closing RBRACE got: EOF'],
    ['path "x" { capabilities }', `At 1:25: key 'capabilities' expected start of object ('{') or assignment ('=')`],
    ['path "x" { capabilities = ["a" "b"] }', 'At 1:32: error parsing list, expected comma or list end, got: STRING'],
    ['path "x" { capabilities = [', 'At 1:28: unexpected token while parsing list: EOF'],
    ['path "x', 'At 1:6: literal not terminated'],
    ['path "\\q" {}', 'At 1:7: illegal char escape'],
    ['/* open', 'At 1:1: comment not terminated'],
    ['path "x" = 1', 'At 1:10: nested object expected: LBRACE got: ASSIGN'],
    ['= 1', 'At 1:1: no object keys found!'],
    ['$', 'At 1:1: illegal character'],
    ['{"path":', 'At 1:9: unexpected end of JSON input looking for beginning of value'],
    ['{"path":{} x', `At 1:12: invalid character 'x' in an object`],
    ['{"path":{"x":{"capabilities":[01]}}}', 'At 1:31: invalid number "01"'],
    ['{"path":1}', 'path must have a label with a pattern on line 1'],
    ['{"path":{"x":1}}', 'path "x": must be an object on line 1'],
    ['{"name":1}', 'name must be a string on line 1'],
  ])('refuses %s', (text, message) => {
    expect(refusal(text)).toBe(`failed to parse policy: ${message}`);
  });

  it.each<[string, unknown]>([
    ['expiration = "2030-01-31"', { expiresAtMs: Date.UTC(2030, 0, 31) }],
    ['expiration = "2030-01-31T12:30:00Z"', { expiresAtMs: Date.UTC(2030, 0, 31, 12, 30) }],
    ['expiration = "2030-01-31t12:30:00.250z"', { expiresAtMs: Date.UTC(2030, 0, 31, 12, 30, 0, 250) }],
    ['expiration = "2030-01-31 12:30:00+01:00"', { expiresAtMs: Date.UTC(2030, 0, 31, 11, 30) }],
    ['pagination_limit = 0', { paginationLimit: 0 }],
    ['min_wrapping_ttl = 60 max_wrapping_ttl = 60', { minWrappingSeconds: 60, maxWrappingSeconds: 60 }],
    ['min_wrapping_ttl = 60 max_wrapping_ttl = 0', { minWrappingSeconds: 60, maxWrappingSeconds: 0 }],
    ['required_parameters = ["B", "a", "b"]', { requiredParameters: ['b', 'a'] }],
    ['policy = "" capabilities = ["read"]', { capabilities: 4 }],
    ['policy = "deny" capabilities = ["read"]', { capabilities: 1 }],
    ['policy = "read" capabilities = ["update"]', { capabilities: 4 + 32 + 8 }],
    ['capabilities = ["read", "deny"]', { capabilities: 1 }],
    ['denied_parameters = { A = ["1"], a = ["2"] }', { deniedParameters: new Map([['a', ['1', '2']]]) }],
    [
      'denied_parameters = { a = [{ b = 1, "c" d { } }, ["e"], false] }',
      {
        deniedParameters: new Map([
          [
            'a',
            [
              {
                object: new Map<string, unknown>([
                  ['b', { number: '1' }],
                  ['c d', { object: new Map() }],
                ]),
              },
              ['e'],
              false,
            ],
          ],
        ]),
      },
    ],
    ['', { capabilities: 0, requiredParameters: [], mfaMethods: [], minWrappingSeconds: 0, comment: undefined }],
  ])('parses %s', (body, expected) => {
    expect(parsePolicy(`path "x" { ${body} }`).rules).toMatchObject([expected]);
  });

  it.each([
    ...[
      '2030-1-31',
      'x2030-01-31',
      '2030-01-31x',
      '2030-13-01',
      '2030-01-31T12:30',
      '2030-01-31T12:30:00',
      '030-01-31',
    ].map((text) => [`expiration = "${text}"`, 'expiration must be a time such as 2030-01-31T12:00:00Z']),
    ...['1.5', '"5"', '9007199254740993', '[1]'].map((value) => [
      `pagination_limit = ${value}`,
      'pagination_limit must be a whole number, zero or greater',
    ]),
    ['comment = 1', 'comment must be a string'],
    ['policy = ["read"]', 'policy must be a string'],
    ['min_wrapping_ttl = []', 'error parsing min_wrapping_ttl'],
    ['allowed_parameters "a" { }', 'invalid key "allowed_parameters"'],
    ['allowed_parameters = { a "b" { } }', 'allowed_parameters must be an object of lists'],
    ['policy = "toString"', 'invalid policy "toString"'],
    ['mfa_methods = "m"', 'mfa_methods must be a list of strings'],
    ['list_scan_response_keys_filter_path = 5', 'list_scan_response_keys_filter_path must be a string'],
  ])('refuses %s', (body, message) => {
    expect(refusal(`path "x" {\n ${body}\n}`)).toMatch(
      new RegExp(`${message.replace('+', '\\+')}($| on line 2(\n|$))`),
    );
  });

  it.each<[string, string[]]>([
    ['path = { a = { }, b = [{ }, { }] }', ['a', 'b', 'b']],
    ['path { a { } }', ['a']],
    ['path = [{ a = { } }, [{ b = { } }]]', ['a', 'b']],
    ['{"path":[{"a":{},"b":{}},{"c":[{},{}]}]}', ['a', 'b', 'c', 'c']],
    ['{"path":{"a":{"comment":null,"capabilities":null}}}', ['a']],
    ['  \n {"path":{"a":{}}}', ['a']],
    ['path "/a" { } path "//b" { }', ['a', '/b']],
  ])('parses %s as blocks', (text, patterns) => {
    expect(parsePolicy(text).rules.map(({ pattern }) => pattern)).toEqual(patterns);
  });

  it('refuses text that is not a path, and cuts text that is too long to read', () => {
    expect(refusal('path = { a b { } }')).toBe(
      'failed to parse policy: path must have exactly one label with a pattern on line 1',
    );
    expect(refusal('path = 5')).toBe('failed to parse policy: path must have a label with a pattern on line 1');
    expect(refusal('[]')).toMatch(/^failed to parse policy: At 1:1: /);
    expect(refusal(`path "${'a'.repeat(128)}" { x = 1 }`)).toContain(`"${'a'.repeat(128)}"`);
    expect(refusal(`path "${'a'.repeat(129)}" { x = 1 }`)).toContain(`"${'a'.repeat(128)}…"`);
    expect(parsePolicy('name = "n"')).toEqual({ name: 'n', rules: [], templated: false });
    expect(parsePolicy(`path "${'a/'.repeat(999)}" { }`).rules).toHaveLength(1);
    expect(refusal(`path "${'a/'.repeat(1_000)}" { }`)).toMatch(/more than 1000 segments$/);
    expect(parsePolicy('#'.repeat(maxPolicyBytes))).toEqual({ rules: [], templated: false });
    expect(parsePolicy('path "{{a}}" { } path "b" { }').templated).toBe(true);
    expect(refusal('path "{{a}}}}" { }')).toContain('unbalanced templating characters');
  });

  it('refuses text beyond the limit, deep nesting and patterns of thousands of segments quickly', () => {
    expect(refusal('#'.repeat(maxPolicyBytes + 1))).toBe(`'policy' is longer than ${maxPolicyBytes} bytes`);
    expect(refusal(`path "x" { comment = ${'['.repeat(100_000)}`)).toMatch(/nesting deeper than 32 levels$/);
    expect(refusal(`{"path":${'['.repeat(100_000)}`)).toMatch(/nesting deeper than 32 levels$/);
    expect(refusal(`path "${'a/'.repeat(10_000)}" { policy = "read" }`)).toMatch(/more than 1000 segments$/);
  });

  it('parses a policy as long as the limit in time that grows with its length', () => {
    const block = 'path "sec/+/{{identity.entity.id}}/*" { capabilities = ["read"] }\n';
    const before = process.cpuUsage();
    expect(parsePolicy(block.repeat(Math.floor(maxPolicyBytes / block.length))).rules.length).toBeGreaterThan(7_000);
    // This takes a tenth of a second of processor time; a quadratic parser would take minutes.
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(15);
  });

  // A policy text that makes the parser throw anything else would be answered as a fault of the service.
  it('answers any text with a policy or a refusal', () => {
    const scraps = [
      'path',
      '"x"',
      '{',
      '}',
      '[',
      ']',
      '=',
      ',',
      'capabilities',
      '"read"',
      '<<EOT\nx\nEOT',
      '1e9',
      '-',
      '${',
      '\\u00',
      '#',
      '/*',
      '*/',
      '"',
      '\n',
      '{{',
      '}}',
      'null',
      'true',
      ':',
      '\uFEFF',
      '\u{1F512}',
    ];
    const soup = fc
      .array(fc.oneof(fc.constantFrom(...scraps), fc.string({ maxLength: 3 })), { maxLength: 40 })
      .map((parts) => parts.join(' '));
    const damaged = fc.tuple(fc.nat(2_000), fc.nat(5), fc.string({ maxLength: 3 })).map(([at, removed, inserted]) => {
      const from = at % defaultPolicyText.length;
      return defaultPolicyText.slice(0, from) + inserted + defaultPolicyText.slice(from + removed);
    });
    const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify({ path: value }));
    void fc.assert(
      fc.property(fc.oneof(fc.string(), soup, damaged, json), (text) => {
        try {
          expect(Array.isArray(parsePolicy(text).rules)).toBe(true);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          expect(error.kind).toBe('malformed');
        }
      }),
      { numRuns: process.env.KEYSTEAD_LONG === '1' ? 500_000 : 5_000 },
    );
  }, 600_000);

  it('parses the built-in policies', () => {
    expect(parsePolicy(defaultPolicyText)).toMatchObject({ templated: true });
    expect(parsePolicy(wrappingPolicyText).rules.map(({ pattern }) => pattern)).toEqual([
      'cubbyhole/response',
      'sys/wrapping/unwrap',
    ]);
  });
});
