/** Another way to write the URL of a path. */
export interface Spelling {
  readonly name: string;
  /** Whether it is one of many spellings of its kind; each of these is tried only on some paths. */
  readonly oneOfMany?: boolean;
  /** Derives it from the plain path below `/v1/`; undefined if it would be the same. */
  write(path: string): string;
}

const percent = (character: string) => Buffer.from(character).toString('hex').replace(/../g, '%$&');
const last = (path: string, change: (segment: string) => string) => {
  const at = path.lastIndexOf('/') + 1;
  return path.slice(0, at) + change(path.slice(at));
};
const first = (path: string, change: (segment: string) => string) => {
  const at = path.indexOf('/');
  return at < 0 ? change(path) : change(path.slice(0, at)) + path.slice(at);
};
const lastSlash = (path: string, by: string) => {
  const at = path.lastIndexOf('/');
  return at < 0 ? path : path.slice(0, at) + by + path.slice(at + 1);
};
const fullWidth = (text: string) =>
  text.replace(/[!-~]/g, (character) => String.fromCodePoint(character.charCodeAt(0) + 0xfee0));

/** Characters to add after, before or inside a name. */
const odd: Readonly<Record<string, string>> = {
  NUL: '\0',
  tab: '\t',
  'line feed': '\n',
  'carriage return': '\r',
  delete: '\x7f',
  'next line': '\x85',
  blank: ' ',
  'no-break blank': '\u00a0',
  'soft hyphen': '\u00ad',
  'zero-width space': '\u200b',
  'zero-width joiner': '\u200d',
  'right-to-left mark': '\u200f',
  'line separator': '\u2028',
  'byte order mark': '\ufeff',
  'combining acute': '\u0301',
  'precomposed e acute': '\u00e9',
  'variation selector': '\ufe0f',
  semicolon: ';',
  dot: '.',
  plus: '+',
  asterisk: '*',
  'question mark': '?',
  number: '#',
  percent: '%',
  backslash: '\\',
  colon: ':',
  comma: ',',
  tilde: '~',
  'at sign': '@',
};

const around = (write: (path: string, character: string) => string, where: string): Spelling[] =>
  Object.entries(odd).map(([name, character]) => ({
    name: `${name} ${where}`,
    oneOfMany: true,
    write: (path) => write(path, percent(character)),
  }));

/** All spellings of a path that an attacker might use to bypass a rule. */
export const spellings: readonly Spelling[] = [
  { name: 'slash at the end', write: (path) => `${path}/` },
  { name: 'escaped slash at the end', write: (path) => `${path}%2f` },
  { name: 'twice escaped slash at the end', write: (path) => `${path}%252f` },
  { name: 'two slashes at the end', write: (path) => `${path}//` },
  { name: 'escaped last slash', write: (path) => lastSlash(path, '%2F') },
  { name: 'every slash escaped', write: (path) => path.replaceAll('/', '%2f') },
  { name: 'twice escaped last slash', write: (path) => lastSlash(path, '%252f') },
  { name: 'overlong slash', write: (path) => lastSlash(path, '%c0%af') },
  { name: 'full-width slash', write: (path) => lastSlash(path, percent('\uff0f')) },
  { name: 'backslash for a slash', write: (path) => lastSlash(path, '%5c') },
  { name: 'plain backslash for a slash', write: (path) => lastSlash(path, '\\') },
  { name: 'doubled slash', write: (path) => lastSlash(path, '//') },
  { name: 'doubled slash, one escaped', write: (path) => lastSlash(path, '/%2f') },
  { name: 'slash at the front', write: (path) => `/${path}` },
  { name: 'escaped slash at the front', write: (path) => `%2f${path}` },
  { name: 'dot segment inside', write: (path) => lastSlash(path, '/./') },
  { name: 'escaped dot segment inside', write: (path) => lastSlash(path, '/%2e/') },
  { name: 'dot segment at the end', write: (path) => `${path}/.` },
  { name: 'dot segment at the front', write: (path) => `./${path}` },
  { name: 'detour inside', write: (path) => lastSlash(path, '/x/../') },
  { name: 'escaped detour inside', write: (path) => lastSlash(path, '/x/%2e%2e/') },
  { name: 'escaped detour as one', write: (path) => lastSlash(path, '/x%2f..%2f') },
  { name: 'detour at the end', write: (path) => `${path}/x/..` },
  { name: 'detour at the front', write: (path) => `x/../${path}` },
  { name: 'detour beyond the top', write: (path) => `../../${path}` },
  { name: 'dots with a path parameter', write: (path) => lastSlash(path, '/x/..;/') },
  { name: 'one letter escaped', write: (path) => last(path, (name) => percent(name[0] ?? '') + name.slice(1)) },
  { name: 'one letter escaped twice', write: (path) => last(path, (name) => name.replace(/^./, '%25$&')) },
  { name: 'every character escaped', write: (path) => percent(path) },
  { name: 'every character escaped, in capitals', write: (path) => percent(path).toUpperCase() },
  { name: 'overlong letter', write: (path) => last(path, (name) => `%c1%a1${name.slice(1)}`) },
  { name: 'broken escape', write: (path) => `${path}%` },
  { name: 'escape of no character', write: (path) => `${path}%ff` },
  { name: 'lone surrogate', write: (path) => `${path}%ed%a0%80` },
  { name: 'capitals in the last segment', write: (path) => last(path, (name) => name.toUpperCase()) },
  {
    name: 'a capital in the last segment',
    write: (path) => last(path, (name) => name.replace(/./, (c) => c.toUpperCase())),
  },
  { name: 'capitals in the first segment', write: (path) => first(path, (name) => name.toUpperCase()) },
  { name: 'capitals everywhere', write: (path) => path.toUpperCase() },
  { name: 'escaped capitals', write: (path) => last(path, (name) => percent(name.toUpperCase())) },
  { name: 'kelvin sign for a k', write: (path) => path.replaceAll('k', percent('\u212a')) },
  { name: 'long s for an s', write: (path) => last(path, (name) => name.replaceAll('s', percent('\u017f'))) },
  { name: 'dotless i for an i', write: (path) => last(path, (name) => name.replaceAll('i', percent('\u0131'))) },
  { name: 'dotted capital i for an i', write: (path) => last(path, (name) => name.replaceAll('i', percent('\u0130'))) },
  { name: 'full-width letters', write: (path) => last(path, (name) => percent(fullWidth(name))) },
  { name: 'mathematical letters', write: (path) => last(path, (name) => percent('\u{1d41a}') + name.slice(1)) },
  { name: 'braces around', write: (path) => last(path, (name) => `%7b${name}%7d`) },
  { name: 'no hyphens', write: (path) => last(path, (name) => name.replaceAll('-', '')) },
  { name: 'a zero in front', write: (path) => last(path, (name) => `0${name}`) },
  { name: 'path parameter', write: (path) => `${path};a=b` },
  { name: 'plain fragment', write: (path) => `${path}#a` },
  { name: 'longer than a path may be', write: (path) => `${'./'.repeat(2100)}${path}` },
  ...around((path, character) => path + character, 'behind'),
  ...around((path, character) => last(path, (name) => character + name), 'before the last segment'),
  ...around((path, character) => last(path, (name) => name.slice(0, 1) + character + name.slice(1)), 'inside'),
];

/** The ways to write a verb: HTTP method and the text after the path. */
export const verbForms: Readonly<Record<string, readonly { readonly method: string; readonly query: string }[]>> = {
  read: [
    { method: 'GET', query: '' },
    { method: 'GET', query: '?list=false' },
    { method: 'GET', query: '?list=' },
  ],
  list: [
    { method: 'GET', query: '?list=true' },
    { method: 'LIST', query: '' },
    { method: 'LIST', query: '?list=false' },
    { method: 'GET', query: '?list=1&list=0' },
  ],
  scan: [
    { method: 'GET', query: '?scan=true' },
    { method: 'GET', query: '?scan=1&list=false' },
  ],
  write: [
    { method: 'POST', query: '' },
    { method: 'PUT', query: '' },
    { method: 'POST', query: '?list=true' },
  ],
  delete: [
    { method: 'DELETE', query: '' },
    { method: 'DELETE', query: '?list=true' },
  ],
  patch: [{ method: 'PATCH', query: '' }],
};
