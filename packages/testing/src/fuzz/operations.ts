import Ajv, { type ValidateFunction } from 'ajv';
import { type Answer, jsonIn } from './wire';

/** The parts of an OpenAPI 3.0 schema that requests are generated from. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Media {
  readonly schema?: Schema;
}
interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Described {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response>>;
}
/** The parts of an OpenAPI document that are read. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** One operation of the document. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  /** The path as in the document: `/sys/mounts/{path}`. */
  readonly template: string;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly media: string; readonly schema: Schema };
  /** Documented statuses. */
  readonly statuses: ReadonlySet<number>;
}

/**
 * Options to compile a schema quickly: few answers are checked against each schema, so compiling costs more than
 * checking. The schemas themselves are checked by document validators.
 */
export const briefly = {
  strict: false,
  validateFormats: false,
  logger: false,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
} as const;

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** The names of all operations of a document: `GET /sys/mounts/{path}`. */
export const operationsOf = ({ paths }: Document): string[] =>
  Object.entries(paths).flatMap(([template, item]) =>
    methods.filter((method) => method in item).map((method) => `${method.toUpperCase()} ${template}`),
  );

/** The operations of an OpenAPI document and their documented answers. */
export class Operations {
  readonly all: readonly Operation[];
  /** Every status that any operation documents. */
  readonly statuses: ReadonlySet<number>;
  /** Statuses from 500 up that some operation answers on purpose. */
  readonly documented: ReadonlySet<number>;
  private readonly sameTests = new Map<string, ValidateFunction>();
  private readonly ajv = new Ajv(briefly);
  /** Validators by response object, which several operations and statuses may share. */
  private readonly tests = new Map<Schema, ValidateFunction>();

  /** `faults`: by the name of an operation, the statuses from 500 up that it answers on purpose. */
  constructor(
    private readonly document: Document,
    readonly faults: Readonly<Record<string, readonly number[]>> = {},
  ) {
    this.documented = new Set(Object.values(faults).flat());
    this.ajv.addSchema({ $id: 'document', ...document });
    this.all = Object.entries(document.paths).flatMap(([template, item]) =>
      methods.filter((method) => method in item).map((method) => this.read(template, item, method)),
    );
    this.statuses = new Set(this.all.flatMap(({ statuses }) => [...statuses]));
  }

  /** A schema with its reference resolved. */
  schema(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    return this.document.components?.schemas?.[schema.$ref.split('/').at(-1)!] ?? {};
  }

  /** Why a body does not match the operation's schema for a status; undefined if it matches. */
  misfit(operation: Operation, answer: Answer): string | undefined {
    const { status, body } = answer;
    const announced = this.announced(operation, status);
    if (announced === undefined) return undefined;
    const { response, pointer } = announced;
    if (response.content === undefined) return undefined;
    const media = (answer.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    if (!(media in response.content)) {
      return body.length === 0 ? undefined : `content type ${media}, not ${Object.keys(response.content).join(' or ')}`;
    }
    const { schema } = response.content[media]!;
    if (schema === undefined || !/json$/.test(media)) return undefined;
    const read = jsonIn(answer);
    if (read === undefined) return 'a body that is not JSON';
    const test = this.test(schema, `${pointer}/content/${escaped(media)}/schema`);
    if (test(read.value)) return undefined;
    const error = test.errors?.find(({ keyword }) => keyword !== 'anyOf') ?? test.errors?.[0];
    return `body: ${error?.instancePath || '/'} ${error?.message ?? ''}`;
  }

  /** The type of the resource that an operation shows; undefined if it shows none. */
  typeShown(operation: Operation): string | undefined {
    const media = Object.values(this.announced(operation, 200)?.response.content ?? {})[0];
    const typeIn = (declared: Schema | undefined, depth: number): string | undefined => {
      if (declared === undefined || depth > 6) return undefined;
      const schema = this.schema(declared);
      const constant = schema.properties?.type?.enum?.[0];
      if (typeof constant === 'string') return constant;
      const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
      return inner.map((one) => typeIn(one, depth + 1)).find((type) => type !== undefined);
    };
    return typeIn(media?.schema && this.schema(media.schema).properties?.data, 0);
  }

  private test(schema: Schema, pointer: string): ValidateFunction {
    let test = this.tests.get(schema);
    if (test === undefined) {
      const text = JSON.stringify(schema);
      test = this.sameTests.get(text) ?? this.ajv.compile({ $ref: `document#${pointer}` });
      this.sameTests.set(text, test);
      this.tests.set(schema, test);
    }
    return test;
  }

  private announced(operation: Operation, status: number): { response: Response; pointer: string } | undefined {
    const { responses } = (this.document.paths[operation.template] as Record<string, Described>)[operation.method]!;
    const response = responses[status];
    if (response === undefined) return undefined;
    if (response.$ref === undefined) {
      const at = ['paths', operation.template, operation.method, 'responses', String(status)];
      return { response, pointer: `/${at.map(escaped).join('/')}` };
    }
    const pointer = response.$ref.slice(1);
    const found = pointer
      .slice(1)
      .split('/')
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], this.document);
    return { response: found as Response, pointer };
  }

  private read(template: string, item: Readonly<Record<string, unknown>>, method: string): Operation {
    const described = item[method] as Described;
    const shared = (item.parameters ?? []) as readonly Parameter[];
    const [body] = Object.entries(described.requestBody?.content ?? {});
    const statuses = Object.keys(described.responses);
    return {
      name: `${method.toUpperCase()} ${template}`,
      method,
      template,
      parameters: [...shared, ...(described.parameters ?? [])],
      body: body && { media: body[0], schema: body[1].schema ?? {} },
      statuses: new Set(statuses.map(Number)),
    };
  }
}

const escaped = (key: string) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
