import { Refusal } from '../../../packages/refusal/src/index';
import { declaredIn, type Wrapper } from './loader';
import { change, playing, reached } from './mutant';

// Mutants of what the secrets service declares: the fields, defaults, answers and rights of operations, and the envelope.

type Fields = Record<string, unknown>;
type Any = (...given: never[]) => unknown;

/** The file of each declaration, by its name in mutants. */
export const placesOfSecrets = new Map<string, string>();

interface ZodLike {
  readonly shape: Record<string, { optional(): unknown }>;
  omit(mask: Fields): ZodLike;
  extend(shape: Fields): ZodLike;
}
interface Operation extends Fields {
  readonly input?: ZodLike;
  readonly defaults?: Fields;
  run(call: unknown): unknown;
}
interface Path extends Fields {
  readonly pattern: string;
  readonly operations: Readonly<Record<string, Operation>>;
}
interface Backend extends Fields {
  readonly type: string;
  readonly paths: readonly Path[];
}
interface Reply extends Fields {
  readonly kind: string;
}

/** The path of the object that a reply shows. */
const shownIn: Readonly<Record<string, string>> = { data: 'data', secret: 'data', raw: 'body', login: 'login' };

function changedReply(of: string, reply: Reply): Reply {
  const key = shownIn[reply.kind];
  if (playing(of) === undefined || key === undefined) return reply;
  if (typeof reply.text === 'string') {
    const holder = JSON.parse(reply.text) as Fields;
    change(of, holder);
    return { ...reply, text: JSON.stringify(holder) };
  }
  const holder = structuredClone(reply[key]) as Fields;
  change(of, holder);
  return { ...reply, [key]: holder };
}

function changedInput(of: string, input: ZodLike | undefined): ZodLike | undefined {
  const mutant = playing(of);
  if (mutant === undefined || input?.shape[mutant.part] === undefined) return input;
  const { part, how } = mutant;
  if (how === 'ignored') {
    reached();
    return input.omit({ [part]: true });
  }
  if (how !== 'not required') return input;
  reached();
  return input.extend({ [part]: input.shape[part]!.optional() });
}

interface Called {
  readonly input: Record<string, unknown>;
}

/** The field that gets a wrong default under the active mutant. */
function supposedIn(of: string): { part: string; value: unknown } | undefined {
  const mutant = playing(`input of ${of}`);
  const how = 'left out means ';
  if (!mutant?.how.startsWith(how)) return undefined;
  return { part: mutant.part, value: JSON.parse(mutant.how.slice(how.length)) };
}

const isDefault = ({ defaults }: Operation, part: string): boolean => defaults !== undefined && part in defaults;

/** Fills in the wrong default of the active mutant if the operation declares no default to replace. */
function suppose(of: string, operation: Operation, { input }: Called): void {
  const supposed = supposedIn(of);
  if (supposed === undefined || isDefault(operation, supposed.part) || input[supposed.part] !== undefined) return;
  reached();
  input[supposed.part] = supposed.value;
}

/** An answer for an existing object where there is none. */
function instead(reply: Reply): Reply {
  if (reply.kind !== 'missing') return reply;
  reached();
  return { kind: 'data', data: {} };
}

function mutableOperation(of: string, operation: Operation): Operation {
  return new Proxy(
    {
      ...operation,
      async run(call: unknown) {
        if (playing(of)?.how === 'missing') {
          reached();
          throw new Refusal('unsupported-path', 'unsupported path');
        }
        suppose(of, operation, call as Called);
        const found = (await operation.run(call)) as Reply;
        const reply = playing(of)?.how === 'answers where nothing is' ? instead(found) : found;
        return changedReply(`answer of ${of}`, reply);
      },
    },
    {
      get(target, key) {
        if (key === 'input') return changedInput(`input of ${of}`, operation.input);
        const supposed = supposedIn(of);
        if (key === 'defaults' && supposed !== undefined && isDefault(operation, supposed.part)) {
          reached();
          return { ...operation.defaults, [supposed.part]: supposed.value };
        }
        if (key === 'sudo' && playing(of)?.how === 'without sudo') {
          reached();
          return false;
        }
        return (target as Fields)[key as string];
      },
    },
  ) as Operation;
}

const open: Readonly<Record<string, Fields>> = {
  'without sudo': { sudo: false },
  'in every namespace': { rootNamespaceOnly: false },
  'with a token': { auth: 'token' },
};

/** Backends with another name in the specification, by mount path. */
const mountedAt: Readonly<Record<string, string>> = { system: 'sys' };

function mutablePath(type: string, path: Path): Path {
  const of = `${type} ${path.pattern}`;
  const operations = Object.fromEntries(
    Object.entries(path.operations).map(([verb, operation]) => {
      for (const kind of ['', 'input of ', 'answer of ']) placesOfSecrets.set(`${kind}${verb} ${of}`, declaredIn());
      return [verb, mutableOperation(`${verb} ${of}`, operation)];
    }),
  );
  placesOfSecrets.set(of, declaredIn());
  return new Proxy(
    { ...path, operations },
    {
      get(target, key) {
        const instead = open[playing(of)?.how ?? ''];
        if (instead !== undefined && (key as string) in instead) {
          reached();
          return instead[key as string];
        }
        return (target as Fields)[key as string];
      },
    },
  ) as Path;
}

function mutableEnvelope(write: Any): Any {
  return ((given: never) => {
    const text = write(given) as string;
    if (playing('envelope') === undefined) return text;
    const holder = JSON.parse(text) as Fields;
    change('envelope', holder);
    return `${JSON.stringify(holder)}\n`;
  }) as Any;
}

/** The exports of the secrets service that are wrapped. */
export const wrappersOfSecrets: Readonly<Record<string, Wrapper>> = {
  'apps/secrets/src/sdk/backend.ts': (exports) => ({
    ...exports,
    backend: (spec: Backend) =>
      (exports.backend as Any)({
        ...spec,
        paths: spec.paths.map((path) => mutablePath(mountedAt[spec.type] ?? spec.type, path)),
      } as never),
  }),
  'packages/envelope/src/index.ts': (exports) => ({
    ...exports,
    envelope: mutableEnvelope(exports.envelope as Any),
    injected: mutableEnvelope(exports.injected as Any),
  }),
};
