import { createHmac, timingSafeEqual } from 'node:crypto';

/** The headers of a delivery, names in lower case. */
export type DeliveryHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A value in a response, by its path; undefined if there is no value. A response may contain anything. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string | number, unknown>)[key];
  }
  return found;
}

/** Null characters and lone surrogates, which the database cannot store. */
const unstorable = /\0|\p{Surrogate}/gu;

/** A string or number in a response, as text that can be stored; empty if there is none. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  if (typeof found === 'string') return found.replace(unstorable, '\uFFFD');
  return typeof found === 'number' ? String(found) : '';
}

/** Like `textAt`, but null if the text is empty. */
export function textOrNull(value: unknown, ...path: readonly (string | number)[]): string | null {
  return textAt(value, ...path) || null;
}

/** A list in a response; empty if there is none. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The id of the first item whose field contains a string. */
export function idOfFirst(
  list: readonly unknown[] | undefined,
  text: string,
  textPath: readonly (string | number)[],
  idPath: readonly (string | number)[],
): string | undefined {
  const found = list?.find((one) => textAt(one, ...textPath).includes(text));
  return textAt(found, ...idPath) || undefined;
}

/** The strings at some paths of a list of files, without duplicates. */
export function pathsIn(files: readonly unknown[], ...paths: readonly (readonly string[])[]): string[] {
  return [...new Set(files.flatMap((file) => paths.map((path) => textAt(file, ...path)).filter(Boolean)))];
}

/** A header as one string. */
export function header(headers: DeliveryHeaders, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** A full commit hash; null for anything else, such as the zeros that mean no commit. */
function commitOf(text: string): string | null {
  return /^[0-9a-f]{40}$|^[0-9a-f]{64}$/.test(text) && !/^0+$/.test(text) ? text : null;
}

/** Compares two secrets in constant time. */
export function sameSecret(sent: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(sent), digest(expected)) && expected !== '';
}

/** Whether a header contains the hexadecimal HMAC-SHA256 of a body, bare or after `sha256=`. */
export const signedIn =
  (name: string) =>
  (headers: DeliveryHeaders, body: Buffer, secret: string): boolean =>
    sameSecret(header(headers, name).replace(/^sha256=/, ''), createHmac('sha256', secret).update(body).digest('hex'));

/** An identifier as part of a path. */
export const segments = (identifier: string): string => identifier.split('/').map(encodeURIComponent).join('/');

/** The address of a path below a base address. */
export const addressBelow = (base: string, path: string): string => base.replace(/(?<!\/)\/+$/, '') + path;

/**
 * The address of a repository without the user name that Bitbucket and Azure DevOps put before the host; empty if it is
 * not an address.
 */
export function cloneAddress(text: string): string {
  if (!URL.canParse(text)) return '';
  const url = new URL(text);
  url.username = '';
  url.password = '';
  return url.href;
}

/** Basic authentication, for Git with a user name and a password. */
export const basic = (name: string, password: string): string =>
  `Authorization: Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** `refs/heads/main` as a branch, `refs/tags/v1` as a tag. */
function refOf(ref: string): { branch: string } | { tag: string } | undefined {
  if (ref.startsWith('refs/heads/')) return { branch: ref.slice('refs/heads/'.length) };
  if (ref.startsWith('refs/tags/')) return { tag: ref.slice('refs/tags/'.length) };
  return undefined;
}

/** The event of a moved reference; undefined for references that are neither branches nor tags. */
export function moved<T extends object>(
  about: T,
  ref: string,
  before: string,
  after: string,
): (T &
  (
    | { kind: 'push'; branch: string; before: string | null; after: string | null }
    | { kind: 'tag'; tag: string; after: string | null }
  ))[] {
  const named = refOf(ref);
  if (!named) return [];
  const to = commitOf(after);
  if ('tag' in named) return [{ ...about, kind: 'tag', tag: named.tag, after: to }];
  return [{ ...about, kind: 'push', branch: named.branch, before: commitOf(before), after: to }];
}

/** How many repositories a page of a list has. */
export const repositoriesPerPage = 50;

/** The maximum number of pages that are read of a list. Longer lists are not completely known. */
export const mostPages = 30;
