import { describe, expect, it } from '@jest/globals';
import { parseListFilter } from './list-filter';

const fill = (template: string, path = 'sec/dir/', key = 'name/') => parseListFilter(template)?.(path, key);

describe('a list filter', () => {
  it.each<[string, string]>([
    ['', ''],
    ['fixed', 'fixed'],
    ['{{ .path }}{{ .key }}', 'sec/dir/name/'],
    ['a/{{.key}}/b', 'a/name//b'],
    ['{{ .path | trim_suffix "/" }}', 'sec/dir'],
    ['{{ .path | trim_suffix "x" }}', 'sec/dir/'],
    ['{{ .path | trim_prefix "sec/" }}', 'dir/'],
    ['{{ .path | trim_prefix "dir" }}', 'sec/dir/'],
    ['{{ .path | replace "/" "--" }}', 'sec--dir--'],
    ['{{ .path | replace "sec" "" }}', '/dir/'],
    ['{{ .path | trim_suffix "/" | replace "sec" "x" | trim_prefix "x/" }}', 'dir'],
    ['{{   .key|trim_suffix "/"   }}', 'name'],
  ])('%j gives %j', (template, expected) => expect(fill(template)).toBe(expected));

  it.each([
    'a }} b',
    '{{ .path',
    '{{ .path }} }}',
    '{{ .other }}',
    '{{ path }}',
    '{{ }}',
    '{{ .path | shout }}',
    '{{ .path | replace "a" }}',
    '{{ .path | replace "" "a" }}',
    '{{ .path | trim_suffix "a" "b" }}',
    '{{ .path | trim_suffix "" }}',
    '{{ .path | trim_prefix "" }}',
    '{{ .path | trim_suffix a }}',
    '{{ .path | xtrim_suffix "a" }}',
    '{{ .path | trim_suffix "a" x }}',
    '{{ .path | }}',
    'x'.repeat(4097),
    `{{ .path ${'| trim_suffix "a" '.repeat(17)}}}`,
  ])('cannot be %j', (template) => expect(parseListFilter(template)).toBeUndefined());

  it('has at most 4096 characters and sixteen steps', () => {
    expect(fill('x'.repeat(4096))).toBe('x'.repeat(4096));
    expect(fill(`{{ .path ${'| trim_suffix "/" '.repeat(16)}}}`)).toBe('sec/dir');
  });

  it('produces nothing longer than the maximum length of a path', () => {
    expect(fill('{{ .path }}{{ .key }}', 'p'.repeat(4090), 'k'.repeat(6))).toHaveLength(4096);
    expect(fill('{{ .path }}{{ .key }}', 'p'.repeat(4090), 'k'.repeat(7))).toBeUndefined();
    expect(fill('{{ .path | replace "p" "qq" }}', 'p'.repeat(2048))).toHaveLength(4096);
    expect(fill('{{ .path | replace "p" "qq" | trim_prefix "q" }}', 'p'.repeat(2049))).toBeUndefined();
    expect(fill('{{ .path | replace "pp" "q" }}', 'p'.repeat(8192))).toHaveLength(4096);
  });
});
