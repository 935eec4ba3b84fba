/** An output as a state records it; `detailedType` is a type expression of the tool. */
export interface ParsedOutput {
  readonly name: string;
  readonly value: unknown;
  readonly sensitive: boolean;
  readonly type: string;
  readonly detailedType: unknown;
}

/** One kind of resource in one module, with how many instances it has. */
export interface ParsedResource {
  readonly name: string;
  readonly type: string;
  readonly count: number;
  readonly module: string;
  readonly provider: string;
}

/** What a state says of itself. */
export interface ParsedState {
  readonly format: number;
  readonly infraVersion: string | null;
  readonly serial: number;
  readonly lineage: string;
  readonly outputs: readonly ParsedOutput[];
  readonly resources: readonly ParsedResource[];
  /** By module, dashed resource type to count. */
  readonly modules: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** By provider, dashed resource type to count. */
  readonly providers: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Instances of managed resources. */
  readonly managedCount: number;
}

/** The bytes are no state. */
export class NoState extends Error {
  override readonly name = 'NoState';
}

interface RawResource {
  readonly mode?: unknown;
  readonly module?: unknown;
  readonly type?: unknown;
  readonly name?: unknown;
  readonly provider?: unknown;
  readonly instances?: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reads a state file of format 4, or an older one as far as it says the same. Throws NoState. */
export function parseState(bytes: Uint8Array): ParsedState {
  let state: unknown;
  try {
    state = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new NoState('is not valid JSON');
  }
  if (!isObject(state) || !Number.isInteger(state.version)) throw new NoState('is not a state file');
  const resources = (Array.isArray(state.resources) ? state.resources : []).filter(isObject).map(parsedResource);
  return {
    format: state.version as number,
    infraVersion: text(state.terraform_version) || null,
    serial: Number.isInteger(state.serial) ? (state.serial as number) : 0,
    lineage: text(state.lineage),
    outputs: isObject(state.outputs) ? parseOutputs(state.outputs) : [],
    resources,
    modules: counted(resources, (resource) => resource.module),
    providers: counted(resources, (resource) => resource.provider),
    managedCount: resources.filter(({ type }) => !type.startsWith('data.')).reduce((sum, { count }) => sum + count, 0),
  };
}

function parsedResource(raw: RawResource): ParsedResource {
  const prefix = raw.mode === 'data' ? 'data.' : '';
  return {
    name: text(raw.name),
    type: prefix + text(raw.type),
    count: Array.isArray(raw.instances) ? raw.instances.length : 0,
    module: text(raw.module) || 'root',
    provider: text(raw.provider),
  };
}

function counted(resources: readonly ParsedResource[], by: (resource: ParsedResource) => string) {
  const table = new Map<string, Map<string, number>>();
  for (const resource of resources) {
    const row = table.get(by(resource)) ?? new Map<string, number>();
    const type = resource.type.replace(/_/g, '-');
    row.set(type, (row.get(type) ?? 0) + resource.count);
    table.set(by(resource), row);
  }
  return Object.fromEntries([...table].map(([key, row]) => [key, Object.fromEntries(row)]));
}

/** Outputs by name, as a state or the tool's own JSON of outputs has them: `{ value, type, sensitive }`. */
export function parseOutputs(outputs: Record<string, unknown>): ParsedOutput[] {
  return Object.entries(outputs)
    .filter((entry): entry is [string, Record<string, unknown>] => isObject(entry[1]))
    .map(([name, output]) => {
      const detailedType = output.type ?? typeOf(output.value);
      return {
        name,
        value: output.value ?? null,
        sensitive: output.sensitive === true,
        type: plainType(detailedType),
        detailedType,
      };
    });
}

const plainTypes: Readonly<Record<string, string>> = {
  bool: 'boolean',
  list: 'array',
  set: 'array',
  tuple: 'array',
  map: 'object',
  object: 'object',
};

/** The JSON-ish name of a type expression: `["tuple",["string"]]` is an array. */
function plainType(type: unknown): string {
  const kind = Array.isArray(type) ? text(type[0]) : text(type);
  return plainTypes[kind] ?? (kind === '' ? 'string' : kind);
}

/** The type expression of a value that came without one. */
function typeOf(value: unknown): unknown {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'number';
  if (Array.isArray(value)) return ['tuple', value.map(typeOf)];
  if (isObject(value)) return ['object', Object.fromEntries(Object.entries(value).map(([key, v]) => [key, typeOf(v)]))];
  return 'string';
}
