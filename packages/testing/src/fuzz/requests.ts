import { jsonOf, names, oddBody, oddTexts } from './odd-values';
import type { Operation, Operations, Parameter } from './operations';
import type { Pools } from './pools';
import type { Random } from './random';
import { type Hints, SchemaValues } from './schema-values';

/** A request as it is made up and, when it is a finding, made smaller. */
export interface FuzzRequest {
  readonly operation: Operation;
  readonly method: string;
  /** Encoded, without the query. */
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  /** A value to be sent as JSON, or what is sent as it is. */
  readonly body?: { readonly value: unknown } | { readonly bytes: string | Buffer };
  /** The path may lead elsewhere than to the operation, or the answer is not its own. */
  readonly astray: boolean;
}

/** How one service is spoken to. */
export interface Dialect {
  /** Before every path of the document: `/v1`, or nothing. */
  readonly prefix: string;
  /** The header that the caller's token goes into, and what stands before it there. */
  readonly token: { readonly header: string; readonly before: string };
  /** Values for fields and parameters by name. */
  readonly hints: Hints;
  /** Fields that always have one value where they are sent: any other would refuse everybody else. */
  readonly fixed: Readonly<Record<string, unknown>>;
  /** Values of a path parameter, by template and name: `/sys/audit/{path} path`. Nothing else is sent there. */
  readonly parameters: Readonly<Record<string, readonly string[]>>;
  /** How often an operation is chosen, by name, where 1 is usual. */
  readonly weights: Readonly<Record<string, number>>;
  /** Statuses from 500 that an operation answers on purpose, by its name. */
  readonly faults: Readonly<Record<string, readonly number[]>>;
  /** Headers that change what a request means: sent now and then, each with one of its values, or one from a pool. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

/** Makes up requests of one caller from the operations of a document and from what it was answered so far. */
export class Requests {
  private readonly values: SchemaValues;
  private readonly wheel: readonly Operation[];

  constructor(
    operations: Operations,
    private readonly dialect: Dialect,
    private readonly random: Random,
    private readonly pools: Pools,
  ) {
    this.values = new SchemaValues(operations, random, pools, dialect.hints);
    this.wheel = operations.all.flatMap((operation) =>
      Array.from({ length: Math.round(20 * (dialect.weights[operation.name] ?? usual(operation))) }, () => operation),
    );
  }

  make(token: string): FuzzRequest {
    const { random, dialect } = this;
    const operation = random.pick(this.wheel);
    let astray = false;
    const path = operation.template.replace(/\{(\w+)\}/g, (_all, name: string) => {
      const only = dialect.parameters[`${operation.template} ${name}`];
      const value = only ? random.pick(only) : this.pathValue(operation, name);
      if (!/^[\w.~-]+$/.test(value) || /^\.+$/.test(value)) astray = true;
      return random.chance(0.5)
        ? encodeURIComponent(plain(value)).replaceAll('%2F', '/')
        : encodeURIComponent(plain(value));
    });
    const query = this.query(operation);
    const headers: Record<string, string> = {};
    const secret = this.secret(token);
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
    const body = this.body(operation);
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
    };
  }

  private pathValue({ template }: Operation, name: string): string {
    const { random, pools } = this;
    const before = template.slice(0, template.indexOf(`/{${name}}`));
    const roll = random.next();
    const hints = this.dialect.hints[name];
    const usual = String(random.pick(hints ?? names));
    if (roll < 0.35) return pools.pick(`keys of ${before}`, random) ?? this.byName(name) ?? usual;
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

  private parameter({ schema, name }: Parameter): string {
    if (this.random.chance(0.12)) return plain(this.random.pick(oddTexts));
    const value = this.values.make(schema, name);
    return plain(typeof value === 'string' ? value : jsonOf(value));
  }

  /** Mostly the caller's own token; sometimes none, a wrong one, or one that was made on the way. */
  private secret(token: string): string | undefined {
    const roll = this.random.next();
    if (roll < 0.94) return token;
    if (roll < 0.96) return undefined;
    if (roll < 0.97) return headerText(this.random.pick(oddTexts));
    return headerText(this.pools.pick('client_token', this.random) ?? this.pools.pick('token', this.random) ?? token);
  }

  private body(operation: Operation): FuzzRequest['body'] {
    const { random } = this;
    if (operation.body === undefined) return random.chance(0.03) ? { bytes: oddBody(random) } : undefined;
    const roll = random.next();
    if (roll < 0.06) return { bytes: oddBody(random) };
    let value = this.values.make(operation.body.schema);
    if (roll > 0.65) value = this.values.spoil(value);
    if (roll > 0.93) value = this.values.spoil(value);
    return { value: pinned(value, this.dialect.fixed) };
  }
}

// What is deleted as often as it is made is hardly ever there.
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

/** A lone half of a character cannot be encoded in a URL. */
const plain = (text: string) => Buffer.from(text).toString();

/** A text as a header may hold it: nothing that would end the line. */
const headerText = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim();

/** The bytes of the body; undefined where there is none. */
export function bodyOf({ body }: FuzzRequest): Buffer | undefined {
  if (body === undefined) return undefined;
  if ('bytes' in body) return Buffer.from(body.bytes as string);
  return Buffer.from(jsonOf(body.value));
}

/** How the bytes of a request are put on the wire. All of these are legal and mean the same. */
export type Framing = 'length' | 'chunked' | 'split';

/** The request as it goes over the wire. */
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
