import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiDocument, type ApiOperation, Operations } from '@keystead/testing';
import type { Response } from 'supertest';
import { openapiDocument } from '../src/kernel/endpoints/openapi';
import { resources } from '../src/resources/registry';
import type { Service } from '../src/service';

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly answer: { readonly status: number; readonly headers: Map<string, string>; readonly body: Buffer };
}

type Schema = { properties?: Record<string, Schema>; additionalProperties?: unknown; not?: object };

const most = 3000;
/**
 * Statuses that are not documented for any operation: those of faults, which tests provoke, and of headers that are too
 * large.
 */
const unannounced = [405, 431, 500];

/**
 * Checks the answers that a test file saw against the OpenAPI document: each must have a documented status, media type
 * and shape, and no undeclared attribute.
 */
export class AnswerSchemas {
  private readonly seen: Seen[] = [];

  add({ req, status, headers, text }: Response & { req?: { method: string; path: string } }): void {
    if (req === undefined || this.seen.length >= most || unannounced.includes(status)) return;
    const sent = new Map(Object.entries(headers as Record<string, string>));
    const answer = { status, headers: sent, body: Buffer.from(text ?? '') };
    // The schemas describe whole resources.
    if (/[?&]fields(?:\[|%5B)/i.test(req.path)) return;
    this.seen.push({ method: req.method, path: req.path.replace(/\?.*$/s, ''), answer });
  }

  /** One line per answer that differs from the document. */
  problems({ env }: Service): string[] {
    this.keep();
    const { operations, find } = announcedBy(env);
    const problems = new Set<string>();
    for (const { method, path, answer } of this.seen) {
      const operation = find(method, path);
      if (operation === undefined) continue;
      const problem = operation.statuses.has(answer.status) ? operations.misfit(operation, answer) : 'not announced';
      if (problem !== undefined) problems.add(`${operation.name} ${answer.status}: ${problem}`);
    }
    return [...problems];
  }

  /** Leaves the answers in the folder that the variable names, for tests that check them against other documents. */
  private keep(): void {
    const folder = process.env.KEYSTEAD_ANSWERS;
    if (folder === undefined) return;
    const answers = this.seen.map(({ method, path, answer: { status, headers, body } }): KeptAnswer => {
      return { method, path, status, type: headers.get('content-type'), text: body.toString() };
    });
    writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(answers));
  }
}

/** An answer as `KEYSTEAD_ANSWERS` leaves it. */
export interface KeptAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

interface Announced {
  readonly operations: Operations;
  readonly find: ReturnType<typeof finder>;
}

/** The documents of the editions: read and compiled once for all test files of a worker. */
const worker = globalThis as { answerSchemas?: Map<string, Announced> };
worker.answerSchemas ??= new Map();
const compiled = worker.answerSchemas;

function announcedBy({ edition, aliases }: Service['env']): Announced {
  const key = `${edition} ${aliases}`;
  let announced = compiled.get(key);
  if (announced === undefined) {
    // The public URL in a document does not affect answers.
    const options = { edition, aliases, publicUrl: 'https://workspaces.test', prefix: '/api/v2' };
    const document = openapiDocument(resources, options) as unknown as ApiDocument;
    closeAnswers(document);
    const operations = new Operations(document);
    announced = { operations, find: finder(operations.all) };
    compiled.set(key, announced);
  }
  return announced;
}

/** Allows in answers only what is declared. */
function closeAnswers(document: ApiDocument): void {
  const schemas = Object.entries(document.components?.schemas ?? {}) as [string, Schema][];
  for (const [name, schema] of schemas) {
    if (!name.endsWith('Resource')) continue;
    const { attributes, relationships } = schema.properties!;
    attributes!.additionalProperties = false;
    if (relationships) relationships.additionalProperties = false;
    // Without declared relationships, not even the key is allowed.
    else schema.properties!.relationships = { not: {} };
  }
  for (const { properties = {} } of answersOf(document)) {
    if ('data' in properties && !('included' in properties)) properties.included = { not: {} };
  }
}

/** The schemas of all answers that are documents. */
function answersOf({ paths }: ApiDocument): Schema[] {
  type Described = { responses?: Record<string, { content?: Record<string, { schema?: Schema }> }> };
  const operations = Object.values(paths).flatMap((item) => Object.values(item) as Described[]);
  const contents = operations.flatMap(({ responses = {} }) => Object.values(responses).map(({ content }) => content));
  return contents.flatMap((content = {}) => Object.values(content).flatMap(({ schema }) => schema ?? []));
}

/** Finds the operation of a path: a literal segment wins over a parameter. */
export function finder(all: readonly ApiOperation[]): (method: string, path: string) => ApiOperation | undefined {
  const known = all.map((operation) => {
    const segments = operation.template.split('/');
    return { operation, segments, literals: segments.filter((one) => !one.startsWith('{')).length };
  });
  known.sort((a, b) => b.literals - a.literals);
  return (method, path) => {
    const sent = path.split('/');
    const fits = (segments: readonly string[]) =>
      segments.length === sent.length &&
      segments.every((one, at) => (one.startsWith('{') ? sent[at] !== '' : one === sent[at]));
    return known.find(({ operation, segments }) => operation.method === method.toLowerCase() && fits(segments))
      ?.operation;
  };
}
