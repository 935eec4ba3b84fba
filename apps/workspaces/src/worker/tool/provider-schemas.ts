import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseExact } from '@keystead/envelope';
import { JsonScanner } from '../../resources/states/state-versions/scanner/json-scanner';
import { askTool, type Binary } from './binaries';

/** The output of `providers schema -json` about some resource types, and about their providers. */
export interface ProviderSchemas {
  readonly format_version: string;
  readonly provider_schemas: Readonly<Record<string, ProviderSchema>>;
}

interface ProviderSchema {
  provider?: unknown;
  readonly resource_schemas: Record<string, unknown>;
  readonly data_source_schemas: Record<string, unknown>;
}

/** The resource types and providers whose schemas are wanted. */
export interface WantedSchemas {
  readonly providers: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
}

/** Longer schemas of types or providers are omitted. */
const longest = 16 * 1024 * 1024;
const lists = ['resource_schemas', 'data_source_schemas'] as const;
const isList = (name: string): name is (typeof lists)[number] => (lists as readonly string[]).includes(name);

/**
 * Extracts schemas from the tool's output while it is printed. Large providers have tens of megabytes of schemas and a
 * plan needs a few kilobytes, so this saves memory and time.
 */
export class SchemaReader {
  private readonly keys: string[] = [];
  private format = '';
  private readonly found: Record<string, ProviderSchema> = {};
  private readonly scanner: JsonScanner;

  constructor(requested: WantedSchemas) {
    const isWanted = (depth: number): boolean => {
      const [, top, provider = '', list = '', type = ''] = this.keys;
      if (depth === 1) return top === 'format_version';
      if (top !== 'provider_schemas' || !requested.providers.has(provider)) return false;
      return depth === 3 ? list === 'provider' : depth === 4 && isList(list) && requested.types.has(type);
    };
    this.scanner = new JsonScanner({
      deepest: 4,
      key: (depth, key) => {
        this.keys[depth] = key;
      },
      begin: (depth) => (isWanted(depth) ? longest : 0),
      end: (depth, text) => {
        if (text !== undefined) this.keep(depth, parseExact(text));
      },
    });
  }

  /** Reads the next piece. Throws `NotJson`. */
  write(piece: Uint8Array): void {
    this.scanner.write(piece);
  }

  /** Ends the output. Throws `NotJson` if something is missing. */
  end(): ProviderSchemas {
    this.scanner.end();
    return { format_version: this.format, provider_schemas: this.found };
  }

  private keep(depth: number, value: unknown): void {
    const [, , provider = '', list = '', type = ''] = this.keys;
    if (depth === 1) {
      this.format = String(value);
      return;
    }
    this.found[provider] ??= { resource_schemas: {}, data_source_schemas: {} };
    if (depth === 3) this.found[provider].provider = value;
    else if (isList(list)) this.found[provider][list][type] = value;
  }
}

/** The provider that is part of the tool, not a plugin. */
const builtIn = 'terraform.io/builtin/terraform';

/** The schemas of the built-in provider, from the tool in an otherwise empty folder. */
async function askBuiltIn({ file }: Binary): Promise<ProviderSchemas> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'schemas-'));
  try {
    await writeFile(path.join(cwd, 'main.tf'), 'resource "terraform_data" "any" {}\n');
    const { stdout } = await askTool(file, ['providers', 'schema', '-json'], { cwd, maxBuffer: longest });
    const schemas = parseExact(stdout) as unknown as ProviderSchemas;
    if (!schemas.provider_schemas?.[builtIn]) throw new Error(`${file} does not print the schema of ${builtIn}`);
    return schemas;
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

interface Kept {
  readonly requested: WantedSchemas;
  readonly schemas: ProviderSchemas;
  readonly bytes: number;
}

/**
 * A cache of the schemas of earlier plans, so that the tool need not be started for them. It contains the newest
 * schemas, up to a number of bytes of JSON. Schemas come from jobs, so the key contains the workspace, and no workspace
 * sees the output of another workspace's job.
 */
export class SchemaCache {
  private readonly entries = new Map<string, Kept>();
  private readonly builtIn = new Map<string, Promise<ProviderSchemas>>();
  private bytes = 0;

  constructor(private readonly mostBytes: number) {}

  /**
   * The schema of the provider that is part of the tool, if no other provider is needed. The worker reads it once, and
   * it is the same for all workspaces. Undefined if other providers are needed, or if the tool fails.
   */
  async findBuiltIn(binary: Binary, { providers }: WantedSchemas): Promise<ProviderSchemas | undefined> {
    if ([...providers].some((name) => name !== builtIn)) return undefined;
    const pending = this.builtIn.get(binary.file) ?? askBuiltIn(binary);
    this.builtIn.set(binary.file, pending);
    return pending.catch(() => undefined);
  }

  /** Whether anything is cached for this key, perhaps for other types. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** The wanted schemas; undefined if one of them is missing. */
  find(key: string, { providers, types }: WantedSchemas): ProviderSchemas | undefined {
    const cached = this.entries.get(key);
    if (!cached) return undefined;
    const isAll = (required: ReadonlySet<string>, cachedNames: ReadonlySet<string>) =>
      [...required].every((one) => cachedNames.has(one));
    if (!isAll(providers, cached.requested.providers) || !isAll(types, cached.requested.types)) return undefined;
    this.entries.delete(key);
    this.entries.set(key, cached);
    return cached.schemas;
  }

  keep(key: string, requested: WantedSchemas, schemas: ProviderSchemas): void {
    this.drop(key);
    const bytes = JSON.stringify(schemas).length + key.length;
    if (bytes > this.mostBytes / 4) return;
    this.entries.set(key, { requested, schemas, bytes });
    this.bytes += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.bytes <= this.mostBytes) break;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.bytes -= this.entries.get(key)?.bytes ?? 0;
    this.entries.delete(key);
  }
}
