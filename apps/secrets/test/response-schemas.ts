import { briefly } from '@keystead/testing';
import Ajv, { type ValidateFunction } from 'ajv';
import type { LiveMount } from '../src/kernel/mounts/mount';
import { sharedSchemas } from '../src/openapi/json-schema';
import type { Verb } from '../src/sdk/call';
import type { Path } from '../src/sdk/path';
import type { Service } from '../src/service';

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
  readonly media: string;
}

interface Media {
  readonly $ref?: string;
  readonly content?: {
    readonly 'application/json'?: { readonly schema: { $ref?: string; anyOf?: { $ref: string }[] } };
  };
}

/** The schema of an answer; undefined if none is declared. */
type Check = (method: string, status: number, media: string) => ValidateFunction | 'nothing' | undefined;

/** The part of the document for one path. */
interface Described {
  readonly paths: Record<string, Record<string, { responses: Record<string, Media> }>>;
  readonly components: { readonly responses: Record<string, Media> };
}

/**
 * Checks the answers that a test file saw against the schemas of their operations, so that the OpenAPI document agrees with the service.
 */
export class ResponseSchemas {
  private readonly seen: Seen[] = [];
  private readonly ofNoShape = new Set<string>();
  private readonly checks = new Map<Path, Check>();

  add(method: string, url: string, status: number, body: unknown, media = 'application/json'): void {
    if (!isRefusalOrTold(body)) this.ofNoShape.add(`${method} ${url} ${status}: has ${Object.keys(body as object)}`);
    // Not declared: statuses that the caller chose, internal errors (which tests provoke), and requests that match no
    // operation.
    if (
      (status >= 300 && status < 400) ||
      [405, 431, 500].includes(status) ||
      /[?&](help|\w+code)=/.test(url) ||
      this.seen.length > 3000
    )
      return;
    if (/%(?![0-9a-f]{2})/i.test(url)) return;
    this.seen.push({
      method,
      path: decodeURIComponent(url.replace(/^\/v1\//, '').replace(/\?.*$/, '')),
      status,
      body,
      media,
    });
  }

  /** One line per answer that differs from its schema. */
  problems(service: Service): string[] {
    const { mounts, namespaces } = service.kernel;
    const problems = new Set(this.ofNoShape);
    for (const { method, path, status, body, media } of this.seen) {
      if (status === 204) continue;
      const resolved = mounts.resolve(namespaces.root?.uuid ?? '', path);
      const verb: Verb =
        method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : method === 'PATCH' ? 'patch' : 'write';
      const matched = resolved?.mount.tree.match(resolved.path, verb);
      if (!resolved || !matched) continue;
      const where = `${method} ${resolved.mount.path}${matched.path.pattern} ${status}`;
      let test: ValidateFunction | 'nothing' | undefined;
      try {
        test = this.checkOf(service, resolved.mount, matched.path)(method, status, media);
      } catch (error) {
        problems.add(`${where}: its schema is none: ${(error as Error).message}`);
        continue;
      }
      if (test === undefined) problems.add(`${where}: not announced`);
      else if (test !== 'nothing' && !test(body)) {
        const first = test.errors?.find(({ keyword }) => keyword !== 'anyOf') ?? test.errors?.[0];
        problems.add(`${where}: ${first?.instancePath ?? ''} ${first?.message ?? ''}`);
      }
    }
    return [...problems];
  }

  private checkOf(service: Service, mount: LiveMount, declared: Path): Check {
    let check = this.checks.get(declared);
    if (check === undefined) {
      const document = service.kernel.help(mount, [declared]) as unknown as Described;
      const text = JSON.stringify(document);
      check = compiled.get(text) ?? checkBy(document);
      compiled.set(text, check);
      this.checks.set(declared, check);
    }
    return check;
  }
}

/** An answer with error messages has no other members, or all those that are documented. */
function isRefusalOrTold(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('errors' in body)) return true;
  const { properties, required } = sharedSchemas.Error as { properties: object; required: readonly string[] };
  const keys = JSON.stringify(Object.keys(body).sort());
  return [required, Object.keys(properties)].some((all) => JSON.stringify([...all].sort()) === keys);
}

/** The compiled checks by path, shared by all test files of a worker. */
const worker = globalThis as { responseSchemas?: Map<string, Check> };
worker.responseSchemas ??= new Map();
const compiled = worker.responseSchemas;

function checkBy({ paths, components }: Described): Check {
  const ajv = new Ajv(briefly);
  ajv.addSchema({ $id: 'doc', components });
  const [item] = Object.values(paths);
  const tests = new Map<string, ReturnType<Check>>();
  return (method, status, media) => {
    const name = method === 'PUT' ? 'post' : method.toLowerCase();
    const key = `${name} ${status} ${media}`;
    if (tests.has(key)) return tests.get(key);
    const announced = item?.[name]?.responses[String(status)];
    const response = announced?.$ref ? components.responses[announced.$ref.split('/').at(-1)!] : announced;
    const { content } = response ?? {};
    // Pages, certificates and keys have a media type, and no schema.
    if (content && media !== 'application/json') return media in content ? 'nothing' : undefined;
    const schema = content?.['application/json']?.schema;
    const refs = schema && (schema.anyOf ?? [{ $ref: schema.$ref! }]).map(({ $ref }) => ({ $ref: `doc${$ref}` }));
    const test = refs ? ajv.compile({ anyOf: refs }) : response && !content ? ('nothing' as const) : undefined;
    tests.set(key, test);
    return test;
  };
}
