/** The parts of an OpenAPI 3.0 schema for generating bodies. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minimum?: number;
}

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
}

/** The parts of an OpenAPI document that are read. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** One operation of the document. */
export interface Operation {
  /** `POST /sys/mounts/{path}` */
  readonly name: string;
  readonly method: string;
  readonly template: string;
  /** Names of parameters in the query. */
  readonly query: readonly string[];
  readonly body?: { readonly media: string; readonly schema: Schema };
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Every declared operation of a service, with its references resolved. */
export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([template, item]) =>
    methods
      .filter((method) => method in item)
      .map((method) => {
        const { parameters = [], requestBody } = item[method] as Described;
        const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
        const name = `${method.toUpperCase()} ${template}`;
        const query = parameters.filter((one) => one.in === 'query').map((one) => one.name);
        const body = media && { media, schema: resolved(content?.schema ?? {}, document, 0) };
        return { name, method: method.toUpperCase(), template, query, ...(body && { body }) };
      }),
  );
}

function resolved(schema: Schema, document: Document, depth: number): Schema {
  if (depth > 12) return {};
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1)!;
    return resolved(document.components?.schemas?.[name] ?? {}, document, depth + 1);
  }
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice) return resolved(choice, document, depth + 1);
  const inner = (one: Schema) => resolved(one, document, depth + 1);
  return {
    ...schema,
    ...(schema.items && { items: inner(schema.items) }),
    ...(schema.properties && {
      properties: Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, inner(one)])),
    }),
  };
}
