import { type Body, type Bounds, bodiesFor } from './bodies';
import type { Operation } from './document';
import type { Case, Sender } from './run-case';
import type { Hints } from './worst-values';

/** How requests to a service are made from its document. */
export interface Dialect {
  /** The prefix of the document's paths. */
  readonly prefix: string;
  /** The headers that authenticate callers. */
  readonly credentials: Readonly<Record<string, string>>;
  /** The bounds of a sender and an operation. */
  bounds(sender: Sender, operation: Operation): Bounds;
  readonly hints: Hints;
  /** Values of the parameters in paths. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Whether forms are read. */
  readonly forms: boolean;
  /** Skipped operations: they would end the service, or delete what others need. */
  readonly spared: RegExp;
  /** Operations that are also tested with strangers. Elsewhere strangers are refused before their body is read. */
  readonly open: RegExp;
}

const page = 'page%5Bsize%5D=100&page%5Bnumber%5D=1';

/** Every declared operation with its worst bodies, from strangers and from callers. */
export function casesFor(operations: readonly Operation[], dialect: Dialect): Case[] {
  return operations.flatMap((operation) => [
    ...casesOf(operation, dialect, 'stranger'),
    ...(dialect.spared.test(operation.name) ? [] : casesOf(operation, dialect, 'caller')),
  ]);
}

function casesOf(operation: Operation, dialect: Dialect, sender: Sender): Case[] {
  const path = pathOf(operation, dialect);
  const credentials = sender === 'caller' ? dialect.credentials : {};
  const caseOf = (kind: string, rest: Pick<Case, 'path' | 'headers' | 'body'>): Case => {
    const headers = { ...credentials, ...rest.headers };
    return { sender, operation: operation.name, kind, method: operation.method, ...rest, headers };
  };
  const plain = caseOf('no body', { path, headers: {} });
  const { body } = operation;
  if (!body) {
    const query = operation.query.map((name) => `${encodeURIComponent(name)}=${'x'.repeat(500)}`).join('&');
    const long = `${path}?${page}&${query}`.slice(0, 7000);
    return operation.method === 'GET'
      ? [
          plain,
          caseOf('list', { path: `${path}?list=true`, headers: {} }),
          caseOf('long query', { path: long, headers: {} }),
        ]
      : [plain];
  }
  const bodies = bodiesFor(body.media, body.schema, dialect.bounds(sender, operation), dialect.hints, dialect.forms);
  const reads = sender === 'caller' || dialect.open.test(operation.name);
  return (reads ? bodies : bodies.slice(0, 2)).map(({ kind, media, text }: Body) =>
    caseOf(kind, { path, headers: { 'Content-Type': media }, body: text }),
  );
}

function pathOf({ template }: Operation, { prefix, parameters }: Dialect): string {
  const filled = template.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(parameters[name] ?? 'hostile'),
  );
  return `${prefix}${filled}`;
}

/** Bodies that treat all fields in the same way; the other bodies test a single field, or the look-up of rights. */
const general =
  /^(no body|list|long query|long texts|unicode|commas|escapes|lists|maps|keys|objects|depth|exact numbers|one text|not JSON|form .*)$/;

/**
 * The fixed order of cases. Valid cases come first, so that later cases find existing resources; then those that test a
 * single field; then all others, well mixed, so that a shorter run covers a fair part.
 */
export function ordered(cases: readonly Case[]): Case[] {
  const valid = cases.filter(({ kind }) => kind === 'as meant');
  const special = cases.filter(({ kind }) => kind !== 'as meant' && !general.test(kind));
  const rest = cases.filter(({ kind }) => general.test(kind));
  let state = 42;
  for (let i = rest.length - 1; i > 0; i--) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const j = state % (i + 1);
    [rest[i], rest[j]] = [rest[j]!, rest[i]!];
  }
  return [...valid, ...special, ...rest];
}
