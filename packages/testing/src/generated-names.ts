interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** A name as generators of `snake_case`, `PascalCase` or case-insensitive file names fold it. */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Registered media types of certificates: some generators must declare these as bytes. */
export const asBytes = [
  ...['pkix-cert', 'pkix-crl', 'pem-certificate-chain', 'x-pem-file', 'ocsp-request', 'ocsp-response'],
].map((type) => `application/${type}`);

/** Media types that client generators support. */
const isKnown = (type: string): boolean =>
  asBytes.includes(type) ||
  /^(application\/(json|octet-stream|x-www-form-urlencoded|[\w.-]+\+json)|multipart\/form-data|text\/[\w.-]+)$/.test(
    type,
  );

/**
 * Problems for client generators: names of operations, parameters, fields and types (including generated names of
 * anonymous types) that collide once folded, and unknown media types.
 */
export function generatorFaults({ paths, components }: Document): string[] {
  const faults: string[] = [];
  const types = new Map<string, string>();
  const operations = new Map<string, string>();
  const claim = (claims: Map<string, string>, kind: string, name: string, at: string) => {
    const other = claims.get(folded(name));
    if (other === undefined) claims.set(folded(name), at);
    else faults.push(`${kind} ${name} is at ${other} and at ${at}`);
  };
  const walk = (schema: Schema | undefined, name: string, at: string): void => {
    if (schema === undefined || schema.$ref !== undefined) return;
    const { properties, additionalProperties, items } = schema;
    const union = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
    if (properties !== undefined || schema.enum !== undefined) claim(types, 'the type', name, at);
    const fields = new Map<string, string>();
    for (const [field, inner] of Object.entries(properties ?? {})) {
      claim(fields, 'the field', field, `${at}/${field}`);
      walk(inner, `${name} ${field}`, `${at}/${field}`);
    }
    if (typeof additionalProperties === 'object') walk(additionalProperties, `${name} AdditionalProperty`, `${at}/*`);
    walk(items, `${name} Item`, `${at}/[]`);
    for (const [i, one] of union.entries()) walk(one, `${name} Type ${i}`, `${at}/${i}`);
  };
  for (const [name, schema] of Object.entries(components?.schemas ?? {})) {
    walk({ properties: {}, ...schema, $ref: undefined }, name, name);
  }
  const all = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => (method in item ? [[`${method} ${path}`, item[method] as Operation] as const] : [])),
  );
  for (const [at, { operationId, parameters = [], requestBody, responses }] of all) {
    claim(operations, 'the operation', operationId, at);
    const sent = new Map<string, string>();
    for (const one of parameters) claim(sent, 'the parameter', one.name, `${at} ${one.in} ${one.name}`);
    const forms = Object.keys(requestBody?.content ?? {});
    if (forms.length > 1) faults.push(`${at} takes the same as ${forms.join(' and ')}`);
    for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
      if (!isKnown(type)) faults.push(`${at} takes ${type}`);
      walk(schema, `${operationId} Body`, `${at} body as ${type}`);
    }
    for (const [status, { content }] of Object.entries(responses)) {
      if (content === undefined) continue;
      const supported = Object.entries(content).find(([type]) => isKnown(type));
      if (supported === undefined) faults.push(`${at} answers ${status} as ${Object.keys(content)}`);
      walk(supported?.[1].schema, `${operationId} Response ${status}`, `${at} ${status}`);
    }
  }
  return faults;
}
