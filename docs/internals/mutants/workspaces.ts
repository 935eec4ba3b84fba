import { Refusal } from '../../../packages/refusal/src/index';
import { declaredIn, type Wrapper } from './loader';
import { change, changed, playing, reached } from './mutant';

// Mutants of what the workspace service declares: serializers, endpoints with their bodies and parameters, rules.

type Fields = Record<string, unknown>;
type Any = (...given: never[]) => unknown;
type Spec = Record<string, unknown> & {
  type: string | ((item: unknown, view: unknown) => string);
};

/** The file of each declaration, by its name in mutants. */
export const placesOfWorkspaces = new Map<string, string>();

const camel = (name: string): string => name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A serializer whose attributes, relationships and links may be changed. */
function mutableSerializer(make: Any): Any {
  return ((spec: Spec) => {
    const typeOf = (item: unknown, view: unknown) =>
      typeof spec.type === 'string' ? spec.type : spec.type(item, view);
    if (typeof spec.type === 'string') {
      for (const kind of ['attributes', 'relationships', 'links']) {
        placesOfWorkspaces.set(`${kind} of ${spec.type}`, declaredIn());
      }
    }
    const copy: Spec = { ...spec };
    for (const kind of ['attributes', 'relationships'] as const) {
      const shown = spec[kind] as ((item: unknown, view: unknown) => Fields) | undefined;
      if (shown === undefined) continue;
      copy[kind] = (item: unknown, view: unknown) => {
        const fields = shown(item, view);
        change(`${kind} of ${typeOf(item, view)}`, fields);
        return fields;
      };
    }
    const self = spec.self as ((item: unknown) => string | undefined) | undefined;
    if (self !== undefined) {
      copy.self = (item: unknown) => {
        const links: Fields = { self: self(item) };
        change(`links of ${typeof spec.type === 'string' ? spec.type : ''}`, links);
        return links.self;
      };
    }
    const id = spec.id as (item: unknown) => string;
    copy.id = (item: unknown) => {
      const holder: Fields = { id: id(item) };
      change(`id of ${typeof spec.type === 'string' ? spec.type : ''}`, holder);
      return holder.id as string;
    };
    return make(copy as never);
  }) as Any;
}

function dropped(value: Fields, part: string): void {
  const steps = part.split('.').map(camel);
  const last = steps.pop()!;
  let holder: Fields | undefined = value;
  for (const step of steps) holder = holder?.[step] as Fields | undefined;
  if (typeof holder !== 'object' || holder === null || !(last in holder)) return;
  reached();
  delete holder[last];
}

interface Shape {
  parse(raw: unknown, options: unknown): { value: Fields };
}
type Document = { data?: { attributes?: Fields; relationships?: Fields } };

function pointsAt(error: unknown, part: string): boolean {
  const issues = ((error as { issues?: { path?: unknown[] }[] }).issues ?? []) as { path?: unknown[] }[];
  return issues.length > 0 && issues.every(({ path }) => (path ?? []).join('.').includes(part));
}

/** The body with one part removed or replaced by a valid name or address. */
function takenUnchecked(body: Shape, part: string, raw: Document, options: unknown): { value: Fields } {
  const { [part]: given, ...attributes } = raw.data?.attributes ?? {};
  const tries = [attributes, ...['x', 'right', 'x@example.com'].map((right) => ({ ...attributes, [part]: right }))];
  for (const attributes of tries) {
    try {
      const parsed = body.parse({ ...raw, data: { ...raw.data, attributes } }, options);
      parsed.value[camel(part)] = given;
      return parsed;
    } catch {
      // The next candidate may be valid.
    }
  }
  return body.parse(raw, options);
}

/**
 * A body with one part `ignored`; accepted `unchecked`, with any value; or gets a wrong default: `left out means
 * false`.
 */
function mutableBody(of: string, body: Shape): Shape {
  return {
    ...body,
    parse(raw, options) {
      const mutant = playing(of);
      if (mutant === undefined) return body.parse(raw, options);
      const { part, how } = mutant;
      const attributes = (raw as Document | undefined)?.data?.attributes ?? {};
      if (how === 'unchecked') {
        try {
          return body.parse(raw, options);
        } catch (error) {
          if (!pointsAt(error, part)) throw error;
          reached();
          return takenUnchecked(body, part, raw as Document, options);
        }
      }
      const parsed = body.parse(raw, options);
      if (how === 'ignored') {
        dropped(parsed.value, part);
      } else if (how.startsWith('left out means ') && !(part in attributes)) {
        reached();
        parsed.value[camel(part)] = JSON.parse(how.slice('left out means '.length));
      }
      return parsed;
    },
  };
}

interface Declared extends Fields {
  method: string;
  path: string;
  body?: Shape;
  rule?: unknown;
  visible?: unknown;
}

/** The parts of an endpoint's declaration that each mutant removes. */
const withoutRule: Readonly<Record<string, Fields>> = {
  'for every edition': { edition: undefined },
  // Rules also refuse kinds of tokens: one of the two checks is enough.
  'for every token': {
    tokens: ['user', 'team', 'organization', 'audit-trails'],
    rule: undefined,
    visible: undefined,
  },
  'for everyone': { rule: undefined, visible: undefined },
  'without a token': { auth: 'none' },
};

function mutableEndpoint(endpoint: Declared): Declared {
  const of = `${endpoint.method} ${endpoint.path}`;
  placesOfWorkspaces.set(of, declaredIn());
  placesOfWorkspaces.set(`body of ${of}`, declaredIn());
  placesOfWorkspaces.set(`query of ${of}`, declaredIn());
  placesOfWorkspaces.set(`answer of ${of}`, declaredIn());
  const body = endpoint.body && mutableBody(`body of ${of}`, endpoint.body);
  const whole: Declared = { ...endpoint, body };
  return new Proxy(whole, {
    get(target, key) {
      const mutant = playing(of);
      if (mutant !== undefined) {
        const instead = withoutRule[mutant.how];
        if (instead !== undefined && (key as string) in instead) {
          reached();
          return instead[key as string];
        }
      }
      return target[key as string];
    },
  });
}

function mutableWords(make: Any): Any {
  return ((...given: never[]) => {
    const words = make(...given) as Record<string, Any>;
    const wrap = (word: Any): Any => ((...args: never[]) => mutableEndpoint(word(...args) as Declared)) as Any;
    return Object.fromEntries(
      Object.entries(words).map(([name, word]) =>
        // The first argument of these two is the method.
        ['command', 'change', 'raw'].includes(name)
          ? [name, (method: never) => wrap(word(method) as Any)]
          : [name, wrap(word)],
      ),
    );
  }) as Any;
}

interface Answer extends Fields {
  status: number;
  body?: string | Buffer;
}

/** Runs an endpoint that may be missing, ignore a parameter, or answer with another status or document. */
function mutableRun(run: Any): Any {
  return (async (kernel: never, endpoint: Declared, request: { search: string }) => {
    const of = `${endpoint.method} ${endpoint.path}`;
    const whole = playing(of);
    if (whole?.how === 'missing') {
      reached();
      throw new Refusal('unsupported-path', '');
    }
    const query = playing(`query of ${of}`);
    let search = request.search;
    if (query !== undefined) {
      const all = new URLSearchParams(search);
      if (all.has(query.part)) reached();
      if (query.how === 'ignored') all.delete(query.part);
      else if (all.has(query.part)) all.set(query.part, query.how);
      search = all.toString();
    }
    const answer = (await run(kernel, endpoint as never, { ...request, search } as never)) as Answer;
    if (whole?.how === 'another status') {
      reached();
      return { ...answer, status: answer.status === 200 ? 201 : 200, body: answer.body ?? '{}' };
    }
    const part = playing(`answer of ${of}`);
    if (part === undefined || answer.body === undefined) return answer;
    const document = JSON.parse(String(answer.body)) as Fields;
    change(`answer of ${of}`, document);
    return { ...answer, body: JSON.stringify(document) };
  }) as Any;
}

function mutablePolicy(make: Any): Any {
  return (() => {
    const of = `rules of ${declaredIn().replace(/^.*\/resources\/|\/policy\.ts$/g, '')}`;
    placesOfWorkspaces.set(of, declaredIn());
    const declare = (make as () => (rules: Record<string, Any>) => Record<string, Any>)();
    return (rules: Record<string, Any>) =>
      declare(
        Object.fromEntries(
          Object.entries(rules).map(([name, rule]) => [
            name,
            ((...given: never[]) => {
              const mutant = playing(of);
              if (mutant?.part !== name) return rule(...given);
              reached();
              return changed(rule(...given), mutant.how);
            }) as Any,
          ]),
        ),
      );
  }) as Any;
}

const wrapping =
  (name: string, wrap: (make: Any) => Any): Wrapper =>
  (exports) => ({ ...exports, [name]: wrap(exports[name] as Any) });

/** Answers rendered under one mutant must not be shown under the next, so none is cached. */
export const forgetFragments: Wrapper = (exports) => {
  const Kept = exports.Fragments as new () => { get(): undefined; document(): undefined };
  class Fragments extends Kept {
    override get(): undefined {
      return undefined;
    }
    override document(): undefined {
      return undefined;
    }
  }
  return { ...exports, Fragments };
};

/** The exports of the workspace service that are wrapped. */
export const wrappersOfWorkspaces: Readonly<Record<string, Wrapper>> = {
  'packages/jsonapi/src/serializer.ts': wrapping('serializer', mutableSerializer),
  'apps/workspaces/src/kernel/endpoints/endpoint.ts': wrapping('endpoints', mutableWords),
  'apps/workspaces/src/kernel/access/policy.ts': wrapping('policy', mutablePolicy),
  'apps/workspaces/src/kernel/endpoints/run-endpoint.ts': wrapping('runEndpoint', mutableRun),
};
