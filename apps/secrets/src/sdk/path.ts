import { z } from 'zod';
import { type Call, type Verb, verbs } from './call';
import type { Fold } from './canonical-path';
import type { Judged } from './guesses';
import { cutPage, PageInput } from './paging';
import { type ParameterReading, readingOf } from './parameter-reading';
import type { Reply } from './reply';

/** Which token a path asks for: one, one if there is one, none, or a wrapping token. */
export type PathAuth = 'token' | 'optional' | 'none' | 'wrapping';

/** The form of an answer: enveloped, enveloped and copied to the top level, or bare. */
export type ResponseFormat = 'standard' | 'injected' | 'raw';

type ParamNames<P extends string> = P extends `${infer A}/${infer Rest}`
  ? ParamNames<A> | ParamNames<Rest>
  : P extends `:${infer Name}`
    ? Name extends `${infer Bare}*`
      ? Bare
      : Name
    : never;

/** The parameters a pattern captures. */
export type Params<P extends string> = { readonly [K in ParamNames<P>]: string };

/** A body that is read as it is. */
export interface WholeBody {
  /** The field whose value it is, in base64. */
  readonly field: string;
  readonly media: string;
  /** Bodies of another media type are refused. */
  readonly only?: true;
}

const noInput = z.object({});
/** The input of an operation that takes no fields. */
export type NoInput = typeof noInput;

/** One verb of a path. */
export interface Operation<P = Readonly<Record<string, string>>, I extends z.ZodObject = NoInput, S = unknown> {
  /** One sentence in the imperative, for documents and help. */
  readonly summary: string;
  readonly description?: string;
  /** The fields this operation reads, by wire name; stored shapes carry no defaults (see `defaults`). */
  readonly input?: I;
  /** The shape of `data` (or of the bare body). */
  readonly output?: z.ZodType;
  /**
   * With `stored`: `merge` lays the given fields over the stored ones, `replace` over the defaults. What merges may run
   * more than once: of several at the same moment, each is laid over what the one before has stored.
   */
  readonly update?: 'merge' | 'replace';
  /**
   * With `merge`: reaches out to another system, so that it is not run again when another request was faster; of two that
   * change the same at once, the last one stays.
   */
  readonly once?: boolean;
  /** Filled in when nothing is stored (merge) or always (replace). */
  readonly defaults?: Partial<z.output<I>>;
  /** Fields that return to their default with every write that leaves them out. */
  readonly resets?: readonly (keyof z.output<I> & string)[];
  /** Other fields that would ask for the same: rules about parameters judge these as well. */
  readonly sameAs?: (fields: Readonly<Record<string, unknown>>) => readonly Readonly<Record<string, unknown>>[];
  /** All body fields are data: none is unrecognised, numbers keep their digits. */
  readonly freeform?: boolean;
  /** The whole body is the value of a field: it is not JSON of fields. */
  readonly wholeBody?: WholeBody;
  /** Takes bodies larger than the few MiB that every operation takes of a known caller; `freeform` implies it. */
  readonly largeBody?: boolean;
  /**
   * Name of the structure that this body is decoded into as a whole: nothing is coerced, and a field of the wrong type
   * reads as JSON that cannot be decoded, under this name.
   */
  readonly decodedInto?: string;
  /** Overrides the path's. */
  readonly auth?: PathAuth;
  /** Said by every operation that callers without a token can send something to. */
  readonly judges?: Judged;
  readonly sudo?: boolean;
  /**
   * Destroys for good, or makes or takes a credential that outlives the session: people at the console must
   * have proven who they are minutes ago; other callers are not asked.
   */
  readonly stepUp?: boolean;
  readonly responseFormat?: ResponseFormat;
  /** Also answers HEAD, which is a read whose body is not sent; `call.headOnly` says so. */
  readonly answersHead?: true;
  /** Success status where it is neither 200 with a body nor 204 without. */
  readonly status?: 200 | 202 | 204;
  /** Media types of what it answers, where that is not JSON or not only; types without text or pem in their name are bytes. */
  readonly media?: readonly string[];
  /** Some refusals are of this media type too: a page for a person whose browser was sent here, a problem. */
  readonly refusalMedia?: string;
  /** What is read may not be there: 204. */
  readonly mayBeEmpty?: true;
  /** Further statuses for the document, with their description. */
  readonly responses?: Readonly<Record<number, string>>;
  /** Fields of request and response that the audit log may hold in the clear; `all` for everything. */
  readonly auditClear?: readonly string[] | 'all';
  /** The keys of its answer are texts that were sent: audit lines hash them like values. */
  readonly auditHidesKeys?: boolean;
  /** Leaves the service without its keys: what goes to the audit table is written before it runs. */
  readonly dropsKeys?: boolean;
  /**
   * The operation id, where the derived one would be another than clients know: whole for system, identity and token, of all
   * other types without what begins every id of the type.
   */
  readonly operationId?: string;
  run(call: Call<P, z.output<I>> & { readonly stored: S | undefined }): Promise<Reply> | Reply;
}

/** What the kernel sees of an operation. */
export interface AnyOperation extends Operation<Readonly<Record<string, string>>, z.ZodObject, unknown> {
  /** How rules about parameters read them; absent if none is declared. */
  readonly reading?: ParameterReading;
}

/** What a path says of itself, besides its operations. */
export interface PathSpec<P extends string, S> {
  readonly summary: string;
  readonly description?: string;
  /** Section title of the specification this implements. */
  readonly spec?: string;
  readonly auth?: PathAuth;
  /** The caller needs `sudo` besides the capability. */
  readonly sudo?: boolean;
  readonly rootNamespaceOnly?: boolean;
  /** Answers while the service is sealed or not initialised; only for system paths without parameters. */
  readonly whileSealed?: boolean;
  readonly responseFormat?: ResponseFormat;
  /** Patterns of single parameters; without one, a `:name` takes a generic name and a rest takes anything. */
  readonly params?: { readonly [K in ParamNames<P>]?: ParamRule };
  /** Parameters whose names are compared without regard to case: read in lower case before anything is decided. */
  readonly folds?: { readonly [K in ParamNames<P>]?: Fold };
  /** Descriptions of parameters for the document. */
  readonly paramDocs?: { readonly [K in ParamNames<P>]?: string };
  /** Decides between the capabilities create and update. `stored` implies it. */
  readonly exists?: (call: Call<Params<P>>) => Promise<boolean> | boolean;
  /** The record as it stands: decides create or update, and is what `update: 'merge'` merges into. */
  readonly stored?: (call: Call<Params<P>>) => Promise<S | undefined> | S | undefined;
}

/**
 * What a parameter may be. `name`: letters, digits, `_`, inner `-` and `.`. `name-at`: the same and `@`.
 * `segment`: any non-empty segment. `uuid`: a UUID, read in lower case. `any`: for rests, everything, also nothing, and
 * a slash at its end is part of it. `folder`: for rests, anything but nothing; a slash at its end says nothing. `base64`: for
 * rests at the end, any text; doubled slashes are part of it, and reach the handler as base64url writes them.
 */
export type ParamRule = 'name' | 'name-at' | 'segment' | 'uuid' | 'any' | 'folder' | 'base64' | RegExp;

/** A declared endpoint: everything the kernel derives routing, checks, audit and documents from. */
export interface Path {
  readonly pattern: string;
  readonly summary: string;
  readonly description?: string;
  readonly spec?: string;
  readonly auth: PathAuth;
  readonly sudo: boolean;
  readonly rootNamespaceOnly: boolean;
  readonly whileSealed: boolean;
  readonly responseFormat: ResponseFormat;
  readonly params: Readonly<Record<string, ParamRule>>;
  readonly folds: Readonly<Record<string, Fold>>;
  readonly paramDocs: Readonly<Record<string, string>>;
  readonly creates: boolean;
  readonly exists?: (call: Call) => Promise<boolean> | boolean;
  readonly stored?: (call: Call) => Promise<unknown> | unknown;
  readonly operations: Readonly<Partial<Record<Verb, AnyOperation>>>;
}

/**
 * Declares an endpoint. Patterns: `role/:name` captures one segment, `:path*` the rest (also with something after it,
 * as in `:path*` + `/tune`), everything else is literal. A more literal pattern wins over a looser one.
 * Every listing takes `after` and `limit`.
 */
export function path<
  const P extends string,
  S = unknown,
  R extends z.ZodObject = NoInput,
  L extends z.ZodObject = NoInput,
  C extends z.ZodObject = NoInput,
  W extends z.ZodObject = NoInput,
  D extends z.ZodObject = NoInput,
  A extends z.ZodObject = NoInput,
>(
  pattern: P,
  spec: PathSpec<P, S> & {
    readonly read?: Operation<Params<P>, R, S>;
    readonly list?: Operation<Params<P>, L, S>;
    readonly scan?: Operation<Params<P>, C, S>;
    readonly write?: Operation<Params<P>, W, S>;
    readonly delete?: Operation<Params<P>, D, S>;
    readonly patch?: Operation<Params<P>, A, S>;
  },
): Path {
  const operations: Partial<Record<Verb, AnyOperation>> = {};
  for (const verb of verbs) {
    const given = spec[verb] as unknown as AnyOperation | undefined;
    if (!given) continue;
    const declared = verb === 'list' || verb === 'scan' ? inPages(given) : given;
    operations[verb] = { ...declared, reading: readingOf(declared) };
  }
  const params = (spec.params ?? {}) as Record<string, ParamRule>;
  for (const rule of Object.values(params)) {
    if (!(rule instanceof RegExp) || /^\^.*\$$/s.test(rule.source)) continue;
    throw new Error(`${pattern}: ${rule} must match from start to end`);
  }
  return {
    pattern,
    summary: spec.summary,
    description: spec.description,
    spec: spec.spec,
    auth: spec.auth ?? 'token',
    sudo: spec.sudo ?? false,
    rootNamespaceOnly: spec.rootNamespaceOnly ?? false,
    whileSealed: spec.whileSealed ?? false,
    responseFormat: spec.responseFormat ?? 'standard',
    params,
    folds: (spec.folds ?? {}) as Record<string, Fold>,
    paramDocs: (spec.paramDocs ?? {}) as Record<string, string>,
    creates: spec.exists !== undefined || spec.stored !== undefined,
    exists: spec.exists as Path['exists'],
    stored: spec.stored as Path['stored'],
    operations,
  };
}

/** A listing that can be asked for in pages. What declares pages itself reads no more than the page. */
function inPages(listing: AnyOperation): AnyOperation {
  if (listing.input?.shape.after) return listing;
  return {
    ...listing,
    input: (listing.input ?? noInput).extend(PageInput.shape),
    run: async (call) => cutPage(await listing.run(call), call.input),
  };
}

/** Declares an operation outside a path, to be shared by several verbs or paths. */
export function operation<P = Readonly<Record<string, string>>, I extends z.ZodObject = NoInput, S = unknown>(
  spec: Operation<P, I, S>,
): Operation<P, I, S> {
  return spec;
}
