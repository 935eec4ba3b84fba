import type { Bodies } from './bodies';
import { jsonOf, names, oddBody, oddTexts } from './odd-values';
import type { Operation, Operations, Parameter } from './operations';
import type { Places } from './places';
import type { Pools } from './pools';
import type { Random } from './random';
import { type Hints, SchemaValues } from './schema-values';

/** A generated request, which is minimised if it shows a fault. */
export interface FuzzRequest {
  readonly operation: Operation;
  readonly method: string;
  /** Encoded, without the query. */
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  /** A value to send as JSON, or raw content. */
  readonly body?: { readonly value: unknown } | { readonly bytes: string | Buffer };
  /** The path may not lead to the operation, or the answer may not be the operation's. */
  readonly astray: boolean;
  /** Sent with the caller's own token. */
  readonly ownToken?: boolean;
}

/** How to talk to one service. */
export interface Dialect {
  /** Before every path of the document: `/v1`, or nothing. */
  readonly prefix: string;
  /** The header that the caller's token goes into, and the text before it there. */
  readonly token: { readonly header: string; readonly before: string };
  /** Values for fields and parameters by name. */
  readonly hints: Hints;
  /** Fields that are always sent with one value: any other would lock out the other callers. */
  readonly fixed: Readonly<Record<string, unknown>>;
  /** Values of a path parameter, by template and name: `/sys/audit/{path} path`. Only these are sent there. */
  readonly parameters: Readonly<Record<string, readonly string[]>>;
  /** Pools of tokens for operations that refuse the caller's own, by prefix of their templates. */
  readonly secrets: Readonly<Record<string, string>>;
  /** How often an operation is chosen, by name; the default is 1. */
  readonly weights: Readonly<Record<string, number>>;
  /** By the name of an operation, the statuses from 500 up that it answers on purpose. */
  readonly faults: Readonly<Record<string, readonly number[]>>;
  /** Headers that change what a request means: sent now and then, each with one of its values, or one from a pool. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

/** The shared knowledge of the callers of a program. */
export interface Known {
  readonly pools: Pools;
  readonly places: Places;
  readonly bodies: Bodies;
}

/** The number of turns of an operation with weight 1. Rarer operations get at least one turn. */
const turnsOfUsual = 50;
const usesKnown = 0.8;
const usesLink = 0.5;
const usesBody = 0.5;

/** Generates requests of one caller from the operations of a document and from earlier answers. */
export class Requests {
  private readonly values: SchemaValues;
  private readonly wheel: readonly Operation[];
  private readonly pools: Pools;
  /** Operations that this caller has not called yet, in random order. */
  private readonly first: Operation[];

  constructor(
    operations: Operations,
    private readonly dialect: Dialect,
    private readonly random: Random,
    private readonly known: Known,
  ) {
    this.pools = known.pools;
    this.values = new SchemaValues(operations, random, known.pools, dialect.hints);
    this.first = random.shuffled(operations.all.filter(({ name }) => (dialect.weights[name] ?? 1) >= 0.1));
    this.wheel = operations.all.flatMap((operation) =>
      Array.from(
        { length: Math.ceil(turnsOfUsual * (dialect.weights[operation.name] ?? usual(operation))) },
        () => operation,
      ),
    );
  }

  /** The next operation to be called: first each operation once, then operations at random. */
  next(): Operation {
    return this.first.pop() ?? this.random.pick(this.wheel);
  }

  make(token: string, operation = this.random.pick(this.wheel)): FuzzRequest {
    const { random, dialect } = this;
    const { template } = operation;
    let astray = false;
    const example = random.chance(usesBody) ? this.known.bodies.pick(operation.name, random) : undefined;
    const link = random.chance(usesLink) ? this.known.places.link(template, random) : undefined;
    const limited = operation.parameters.some(({ name }) => `${template} ${name}` in dialect.parameters);
    const place = !limited && random.chance(usesKnown) ? this.known.places.pick(template, random) : undefined;
    const rest = (place?.rest ?? template).replace(/\{(\w+)\}/g, (_all, name: string) => {
      const only = dialect.parameters[`${template} ${name}`];
      const value = only ? random.pick(only) : this.pathValue(operation, name);
      if (!/^[\w.~-]+$/.test(value) || /^\.+$/.test(value)) astray = true;
      return random.chance(0.5)
        ? encodeURIComponent(plain(value)).replaceAll('%2F', '/')
        : encodeURIComponent(plain(value));
    });
    const there = limited ? undefined : example?.path;
    const path = link?.split('?')[0] ?? there ?? (place?.path ?? '') + rest;
    // A segment of dots leads to another path before the operation is known, and an empty one may name a list.
    if (/[^\w./~-]|(^|\/)\.\.?(\/|$)|\/\/|\/$/.test(path)) astray = true;
    const query = link === undefined ? this.query(operation) : [...new URLSearchParams(link.split('?')[1])];
    // Headers that are too large are refused before the path is known.
    if (query.some((pair) => pair.some((text) => text.length > 1000))) astray = true;
    const headers: Record<string, string> = {};
    const secret = this.secret(token, operation);
    const sameToken = secret === token;
    if (secret !== undefined) headers[dialect.token.header] = dialect.token.before + secret;
    for (const parameter of operation.parameters) {
      if (parameter.in === 'header' && random.chance(0.1))
        headers[parameter.name] = headerText(this.parameter(parameter));
    }
    for (const [name, values] of Object.entries(dialect.headers)) {
      if (!random.chance(0.02)) continue;
      headers[name] = headerText(
        random.chance(0.3) ? (this.pools.pick('path', this.random) ?? '') : random.pick(values),
      );
      astray = true;
    }
    const body = this.body(operation, example?.body);
    const media = operation.body?.media ?? 'application/json';
    if (body !== undefined) headers['Content-Type'] = random.chance(0.97) ? media : random.pick(oddMedia);
    return {
      operation,
      method: operation.method.toUpperCase(),
      path: dialect.prefix + path,
      query,
      headers,
      body,
      astray,
      ownToken: sameToken,
    };
  }

  private pathValue({ template }: Operation, name: string): string {
    const { random, pools } = this;
    const place = template
      .slice(0, template.indexOf(`/{${name}}`))
      .split('/')
      .at(-1)!;
    const roll = random.next();
    const hints = this.dialect.hints[name];
    const usual = String(random.pick(hints ?? names));
    if (roll < 0.3) return pools.pick(place, random) ?? this.byName(name) ?? usual;
    if (roll < 0.65) return this.byName(name) ?? usual;
    if (roll < 0.93) return usual;
    return random.pick(oddTexts) || 'x';
  }

  private byName(name: string): string | undefined {
    const type = `${name.replace(/_(id|name)$/, '').replaceAll('_', '-')}s`;
    return this.pools.pick(type, this.random) ?? this.pools.pick(name, this.random);
  }

  private query(operation: Operation): [string, string][] {
    const { random } = this;
    const query: [string, string][] = [];
    for (const parameter of operation.parameters) {
      if (parameter.in !== 'query' || !(parameter.required || random.chance(0.15))) continue;
      query.push([parameter.name, this.parameter(parameter)]);
    }
    if (random.chance(0.02)) query.push([random.pick(oddTexts), random.pick(oddTexts)]);
    if (query.length > 0 && random.chance(0.02)) query.push(random.pick(query));
    return query;
  }

  private parameter({ schema, name, description }: Parameter): string {
    if (this.random.chance(0.12)) return plain(this.random.pick(oddTexts));
    const listed = /^Comma-separated: ([^.]+(?:\.\w[^.]*)*)/.exec(description ?? '')?.[1];
    if (listed !== undefined && this.random.chance(0.8)) return this.random.pick(listed.split(', '));
    const value = this.values.make(schema, name);
    return plain(typeof value === 'string' ? value : jsonOf(value));
  }

  /** Mostly the caller's own token; sometimes none, a wrong one, or one from an earlier answer. */
  private secret(token: string, { template }: Operation): string | undefined {
    const others = Object.entries(this.dialect.secrets).find(([start]) => template.startsWith(start))?.[1];
    if (others !== undefined && this.random.chance(0.7)) return this.pools.pick(others, this.random) ?? token;
    const roll = this.random.next();
    if (roll < 0.94) return token;
    if (roll < 0.955) return undefined;
    if (roll < 0.96) return headerText(this.random.pick(oddTexts));
    return headerText(this.pools.pick('client_token', this.random) ?? this.pools.pick('token', this.random) ?? token);
  }

  private body(operation: Operation, example: FuzzRequest['body']): FuzzRequest['body'] {
    const { random } = this;
    if (example !== undefined && 'bytes' in example && random.chance(0.7)) return example;
    if (operation.body === undefined) return random.chance(0.03) ? { bytes: oddBody(random) } : undefined;
    const roll = random.next();
    if (roll < 0.06) return { bytes: oddBody(random) };
    let value = example && 'value' in example ? example.value : this.values.make(operation.body.schema);
    if (roll > 0.65) value = this.values.spoil(value);
    if (roll > 0.93) value = this.values.spoil(value);
    return { value: pinned(value, this.dialect.fixed) };
  }
}

// Resources that are deleted as often as created would hardly ever exist.
const usual = ({ method }: Operation): number => (method === 'delete' ? 0.3 : 1);

function pinned(value: unknown, fixed: Dialect['fixed']): unknown {
  if (Array.isArray(value)) return value.map((item) => pinned(item, fixed));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, Object.hasOwn(fixed, key) ? fixed[key] : pinned(item, fixed)]),
  );
}

const oddMedia = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  '',
  'a',
  '*/*',
];

/** An unpaired surrogate cannot be encoded in a URL. */
const plain = (text: string) => Buffer.from(text).toString();

/** A string for a header, without characters that would end the line. */
const headerText = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim();

/** The bytes of the body; undefined if there is none. */
function bodyOf({ body }: FuzzRequest): Buffer | undefined {
  if (body === undefined) return undefined;
  if ('bytes' in body) return Buffer.from(body.bytes as string);
  return Buffer.from(jsonOf(body.value));
}

/** How the bytes of a request are sent. All of these are legal and equivalent. */
export type Framing = 'length' | 'chunked' | 'split';

/** The bytes of a request. */
export function encode(request: FuzzRequest, host: string, framing: Framing = 'length'): Buffer {
  const body = bodyOf(request);
  const query = request.query.map((pair) => pair.map((text) => encodeURIComponent(plain(text))).join('='));
  const target = query.length === 0 ? request.path : `${request.path}?${query.join('&')}`;
  const lines = [`${request.method} ${target} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(request.headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined)
    lines.push(framing === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (body === undefined) return head;
  return Buffer.concat([head, framing === 'chunked' ? chunked(body) : body]);
}

function chunked(body: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += 37) {
    const piece = body.subarray(at, at + 37);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    if (pieces.length > 300) {
      const rest = body.subarray(at + 37);
      if (rest.length > 0) pieces.push(Buffer.from(`${rest.length.toString(16)};x=1\r\n`), rest, Buffer.from('\r\n'));
      break;
    }
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}
