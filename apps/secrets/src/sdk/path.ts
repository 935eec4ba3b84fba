import { z } from 'zod';
import { type Call, type Verb, verbs } from './call';
import type { Fold } from './canonical-path';
import type { Judged } from './guesses';
import { cutPage, PageInput } from './paging';
import { type ParameterReading, readingOf } from './parameter-reading';
import type { Reply } from './reply';

/** Which token a path requires: a token, an optional token, none, or a wrapping token. */
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

/** The parameters that a pattern captures. */
export type Params<P extends string> = { readonly [K in ParamNames<P>]: string };

/** A body that is read raw. */
export interface WholeBody {
  /** The field that gets it, in base64. */
  readonly field: string;
  readonly media: string;
  /** Whether bodies of another media type are refused. */
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
  /** The fields this operation reads, by wire name; stored shapes contain no defaults (see `defaults`). */
  readonly input?: I;
  /** The shape of `data` (or of the bare body). */
  readonly output?: z.ZodType;
  /**
   * With `stored`: `merge` applies the given fields to the stored ones, `replace` to the defaults. A merging handler
   * may run more than once: simultaneous handlers each apply to the result of the previous one.
   */
  readonly update?: 'merge' | 'replace';
  /**
   * With `merge`: the operation calls another system, so it is not repeated if another request changed the record
   * first. Of two simultaneous changes, the last one wins.
   */
  readonly once?: boolean;
  /** The default values, which are applied if nothing is stored (merge), or always (replace). */
  readonly defaults?: Partial<z.output<I>>;
  /** Fields that return to their default with every write that omits them. */
  readonly resets?: readonly (keyof z.output<I> & string)[];
  /** Other fields with the same effect. Parameter rules of policies also check these. */
  readonly sameAs?: (fields: Readonly<Record<string, unknown>>) => readonly Readonly<Record<string, unknown>>[];
  /** Whether all body fields are data, so that no field is unknown and numbers keep their digits. */
  readonly freeform?: boolean;
  /** Set if the whole body is the value of one field instead of JSON with fields. */
  readonly wholeBody?: WholeBody;
  /**
   * Whether the operation accepts larger bodies than the few MiB that every operation accepts from an authenticated
   * caller; `freeform` implies it.
   */
  readonly largeBody?: boolean;
  /**
   * The name of the structure that this body is decoded into strictly: nothing is coerced, and a field of the wrong
   * type is refused as undecodable JSON, under this name.
   */
  readonly decodedInto?: string;
  /** Overrides the `auth` of the path. */
  readonly auth?: PathAuth;
  /**
   * The kind of secret that the operation checks. Required for every operation to which callers without a token can
   * send data.
   */
  readonly judges?: Judged;
  readonly sudo?: boolean;
  /**
   * Whether the operation destroys data permanently, or creates or accepts a credential that outlives the session.
   * Users of the console must have confirmed their identity recently; other callers need not.
   */
  readonly stepUp?: boolean;
  readonly responseFormat?: ResponseFormat;
  /** Whether the operation also answers HEAD, a read without a response body. In this case `call.headOnly` is true. */
  readonly answersHead?: true;
  /** The success status, unless it is 200 with a body or 204 without. */
  readonly status?: 200 | 202 | 204;
  /** The media types of its answers, if they are not only JSON. Types without text or pem in their name are bytes. */
  readonly media?: readonly string[];
  /** The media type of some of its refusals: a page for a redirected browser, or a problem document. */
  readonly refusalMedia?: string;
  /** Whether it answers 204 if there is nothing to read. */
  readonly mayBeEmpty?: true;
  /** More statuses for the document, with descriptions. */
  readonly responses?: Readonly<Record<number, string>>;
  /** Fields of request and response that the audit log may contain unhashed; `all` means every field. */
  readonly auditClear?: readonly string[] | 'all';
  /** Whether the keys of its response come from input, so that audit lines hash them like values. */
  readonly auditHidesKeys?: boolean;
  /** Whether the operation seals the service, so that the row of the audit table must be written before it runs. */
  readonly dropsKeys?: boolean;
  /**
   * The operation id, if clients know an id other than the derived one. It is the complete id for system, identity and
   * token, and without the prefix of the type for all other types.
   */
  readonly operationId?: string;
  run(call: Call<P, z.output<I>> & { readonly stored: S | undefined }): Promise<Reply> | Reply;
}

/** The kernel's view of an operation. */
export interface AnyOperation extends Operation<Readonly<Record<string, string>>, z.ZodObject, unknown> {
  /** How its parameters are parsed for rules; absent if none are declared. */
  readonly reading?: ParameterReading;
}

/** The properties of a path, apart from its operations. */
export interface PathSpec<P extends string, S> {
  readonly summary: string;
  readonly description?: string;
  /** Section title of the specification this implements. */
  readonly spec?: string;
  readonly auth?: PathAuth;
  /** Whether the caller needs `sudo` in addition to the capability. */
  readonly sudo?: boolean;
  readonly rootNamespaceOnly?: boolean;
  /**
   * Whether the path is available while the service is sealed or not initialised; only for system paths without
   * parameters.
   */
  readonly whileSealed?: boolean;
  readonly responseFormat?: ResponseFormat;
  /** Patterns of single parameters; by default, a `:name` accepts a generic name and a rest accepts anything. */
  readonly params?: { readonly [K in ParamNames<P>]?: ParamRule };
  /** Parameters whose case is ignored: they are converted to lower case first. */
  readonly folds?: { readonly [K in ParamNames<P>]?: Fold };
  /** Descriptions of parameters for the document. */
  readonly paramDocs?: { readonly [K in ParamNames<P>]?: string };
  /** Whether the target exists, which decides between create and update. Not needed with `stored`. */
  readonly exists?: (call: Call<Params<P>>) => Promise<boolean> | boolean;
  /**
   * The current record. It determines whether a write is a create or an update, and `update: 'merge'` merges into it.
   */
  readonly stored?: (call: Call<Params<P>>) => Promise<S | undefined> | S | undefined;
}

/**
 * The allowed values of a parameter. `name`: letters, digits, `_`, inner `-` and `.`. `name-at`: the same and `@`.
 * `segment`: any non-empty segment. `uuid`: a UUID, read in lower case. `any`: for rests, everything, even empty; a
 * trailing slash is part of it. `folder`: for rests, anything that is not empty; a trailing slash is ignored. `base64`:
 * for rests at the end, any text; doubled slashes are part of it, and reach the handler as base64url.
 */
export type ParamRule = 'name' | 'name-at' | 'segment' | 'uuid' | 'any' | 'folder' | 'base64' | RegExp;

/** A declared endpoint, from which the kernel derives routing, checks, audit and documents. */
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
 * Declares an endpoint. In a pattern, `role/:name` captures one segment, and `:path*` captures the rest (also if a
 * suffix follows, as in `:path*` + `/tune`). Everything else is literal. A more literal pattern takes precedence. Every
 * listing accepts `after` and `limit`.
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
    const operation = spec[verb] as unknown as AnyOperation | undefined;
    if (!operation) continue;
    const declared = verb === 'list' || verb === 'scan' ? inPages(operation) : operation;
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

/** A listing with pages. A listing that declares the page parameters itself reads only the page. */
function inPages(listing: AnyOperation): AnyOperation {
  if (listing.input?.shape.after) return listing;
  return {
    ...listing,
    input: (listing.input ?? noInput).extend(PageInput.shape),
    run: async (call) => cutPage(await listing.run(call), call.input),
  };
}

/** Declares an operation outside a path, to share it between verbs or paths. */
export function operation<P = Readonly<Record<string, string>>, I extends z.ZodObject = NoInput, S = unknown>(
  spec: Operation<P, I, S>,
): Operation<P, I, S> {
  return spec;
}
