import { createHash } from 'node:crypto';
import { parseExact } from '@keystead/envelope';
import { stringOf } from './json-bytes';
import { JsonScanner, NotJson } from './json-scanner';
import {
  type InstanceKey,
  NoState,
  type ParsedResource,
  type ParsedState,
  parseOutputs,
  serialIn,
  storableText,
} from './parse-state';

const scalarBytes = 64 * 1024;
/** The maximum length of names, types and addresses of resources. Longer ones are omitted. */
const fieldBytes = 4 * 1024;
/** The limit for all outputs of a state together. Outputs beyond it are left out. */
const outputBytes = 16 * 1024 * 1024;
/** The maximum number of resources that are listed; counting continues. */
const listedResources = 100_000;
/** The maximum number of instances that are listed by their indexes, across all resources. */
const listedInstances = 100_000;
/** The space that is reserved for the names of a resource with many indexes. */
const namesRoom = 4 * fieldBytes;
/** The cost of an index in addition to its own characters. */
const keyCost = 4;
/** The maximum number of characters of all listed objects, and of all objects that are counted separately. */
export const listedCharacters = 16 * 1024 * 1024;
/** The maximum number of modules and providers that are counted separately. */
const countedApart = 10_000;
/** The number of strings of resources that are created only once. */
const knownTexts = 1_000;

type Counts = Record<string, Record<string, number>>;

/** A resource while its fields are read, in any order. */
class ResourceFields {
  mode = '';
  module = '';
  type = '';
  name = '';
  provider = '';
  instances = 0;
  keys: InstanceKey[] | undefined;
  keyCharacters = 0;
}
type TextField = 'mode' | 'module' | 'type' | 'name' | 'provider';
const isTextField = (key: string): key is TextField =>
  key === 'mode' || key === 'module' || key === 'type' || key === 'name' || key === 'provider';

/** Where the reader is in a state: at the top, in its outputs, its list of resources, or in one resource. */
type Section = 'outputs' | 'resources' | undefined;

/**
 * Reads the content of a state while its bytes are streamed, in memory that does not grow with the state. Supports
 * format 4, and the same fields of older formats.
 */
export class StateReader {
  private readonly scanner = new JsonScanner({
    deepest: 5,
    key: (depth, key) => this.key(depth, key),
    begin: (depth, kind, position) => this.begin(depth, kind, position),
    end: (depth, text, position) => this.endOf(depth, text, position),
  });
  private isObject = false;
  private holdsEncrypted = false;
  private readonly top = new Map<string, unknown>();
  private section: Section;
  private readonly keys: string[] = [];
  private resource: ResourceFields | undefined;
  private readonly knownTexts = new Map<string, string>();
  private inInstances = false;
  /** The key of the current instance; undefined if the instance must not be listed. */
  private instanceKey: InstanceKey | undefined;
  private isDeposed = false;
  private outputs = new Map<string, unknown>();
  private outputRoom = outputBytes;
  private resources = new ResourceTable();
  private serial: { from: number; to: number } | undefined;
  private serialFrom = 0;

  /** Reads the next piece. Throws NoState once the bytes cannot be a state. */
  write(piece: Uint8Array): void {
    translated(() => this.scanner.write(piece));
  }

  /** Ends the state and returns its content. Throws NoState. */
  end(): ParsedState {
    translated(() => this.scanner.end());
    const { top, resources } = this;
    const serial = serialIn(top.get('serial'));
    const isPlain = Number.isInteger(top.get('version'));
    // OpenTofu writes serial and encryption version next to the encrypted state.
    const isEncrypted =
      this.holdsEncrypted && typeof top.get('encryption_version') === 'string' && serial !== undefined;
    if (!this.isObject || !(isPlain || isEncrypted)) throw new NoState('is not a state file');
    return {
      format: isPlain ? (top.get('version') as number) : null,
      infraVersion: text(top.get('terraform_version')) || null,
      serial: serial ?? 0n,
      lineage: text(top.get('lineage')),
      outputs: parseOutputs(this.outputs),
      resources: resources.listed,
      modules: resources.modules,
      providers: resources.providers,
      managedCount: resources.managedCount,
    };
  }

  /** The text of a field. All fields except names often have the same text. */
  private textOf(key: TextField, json: string): string {
    if (!json.startsWith('"')) return '';
    if (key === 'name') return storableText(stringOf(json));
    let text = this.knownTexts.get(json);
    if (text === undefined) {
      text = storableText(stringOf(json));
      if (this.knownTexts.size < knownTexts) this.knownTexts.set(json, text);
    }
    return text;
  }

  /** The position of the top-level serial, in bytes from the start; undefined if there is none. */
  get serialAt(): { from: number; to: number } | undefined {
    return this.serial;
  }

  private key(depth: number, key: string): void {
    this.keys[depth] = key;
  }

  private begin(depth: number, kind: 'object' | 'array' | 'scalar', position: number): number {
    const key = this.keys[depth]!;
    if (depth === 0) {
      this.isObject = kind === 'object';
    } else if (!this.isObject) {
      return 0;
    } else if (depth === 1) {
      this.section = undefined;
      this.top.delete(key);
      // If a key is repeated, the last value is used, as everywhere in JSON.
      if (key === 'outputs') {
        this.outputs = new Map();
        this.outputRoom = outputBytes;
        if (kind === 'object') this.section = 'outputs';
      } else if (key === 'resources') {
        this.resources = new ResourceTable();
        if (kind === 'array') this.section = 'resources';
      } else if (kind === 'scalar') {
        if (key === 'serial') this.serialFrom = position;
        if (key === 'encrypted_data') this.holdsEncrypted = true;
        return scalarBytes;
      }
    } else if (this.section === 'outputs') {
      if (depth === 2 && kind === 'object') return Math.max(1, this.outputRoom);
      if (depth === 2) this.outputs.delete(key);
    } else if (this.section === 'resources') {
      if (depth === 2) {
        this.resource = kind === 'object' ? new ResourceFields() : undefined;
      } else if (depth === 3 && this.resource) {
        if (key === 'instances') {
          Object.assign(this.resource, { instances: 0, keys: [], keyCharacters: 0 });
        } else if (isTextField(key)) {
          this.resource[key] = '';
          if (kind === 'scalar') return fieldBytes;
        }
        this.inInstances = key === 'instances' && kind === 'array';
      } else if (depth === 4 && this.inInstances && this.resource) {
        this.resource.instances++;
        this.instanceKey = null;
        this.isDeposed = false;
      } else if (depth === 5 && this.inInstances && this.resource) {
        // A deposed instance, which is about to be destroyed, has the same address as its replacement.
        if (key === 'deposed') this.isDeposed = true;
        if (key === 'index_key') {
          this.instanceKey = undefined;
          if (kind === 'scalar') return fieldBytes;
        }
      }
    }
    return 0;
  }

  private endOf(depth: number, found: string | undefined, position: number): void {
    if (!this.isObject) return;
    const key = this.keys[depth]!;
    if (depth === 1) {
      this.section = undefined;
      if (found !== undefined) this.top.set(key, parseExact(found));
      if (key === 'serial' && found !== undefined) this.serial = { from: this.serialFrom, to: position };
    } else if (depth === 2 && this.section === 'outputs' && found !== undefined) {
      this.outputRoom -= found.length;
      this.outputs.set(key, parseExact(found));
    } else if (depth === 2 && this.section === 'resources' && this.resource) {
      this.resources.add(this.resource);
      this.resource = undefined;
    } else if (depth === 3 && this.resource && found !== undefined) {
      if (isTextField(key)) this.resource[key] = this.textOf(key, found);
    } else if (depth === 4 && this.inInstances && this.resource) {
      if (!this.isDeposed && this.instanceKey !== undefined) this.resources.keep(this.resource, this.instanceKey);
    } else if (depth === 5 && this.inInstances && key === 'index_key' && found !== undefined) {
      this.instanceKey = keyOf(JSON.parse(found));
    }
  }
}

/** An index in the format of the tool; undefined for anything else. */
function keyOf(value: unknown): InstanceKey | undefined {
  if (typeof value === 'string') return storableText(value);
  return value === null || Number.isSafeInteger(value) ? (value as number | null) : undefined;
}

const text = (value: unknown): string => (typeof value === 'string' ? storableText(value) : '');

function translated(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (error instanceof NotJson) throw new NoState('is not valid JSON');
    throw error;
  }
}

/** The resources of a state: listed, and counted by module and by provider. */
class ResourceTable {
  readonly listed: ParsedResource[] = [];
  readonly modules: Counts = Object.create(null);
  readonly providers: Counts = Object.create(null);
  managedCount = 0;
  private readonly dashed = new Map<string, string>();
  private rows = 0;
  private keyRows = 0;
  private listRoom = listedCharacters;
  private countRoom = listedCharacters;

  /** Stores the index of an instance as long as there is space. */
  keep(resource: ResourceFields, key: InstanceKey): void {
    const characters = resource.keyCharacters + keyCost + (typeof key === 'string' ? key.length : 0);
    const { keys } = resource;
    if (keys === undefined || this.keyRows + keys.length >= listedInstances || characters > this.listRoom - namesRoom)
      return;
    keys.push(key);
    resource.keyCharacters = characters;
  }

  add({
    mode,
    type: kind,
    module: moduleName,
    name,
    provider,
    instances: count,
    keys,
    keyCharacters,
  }: ResourceFields): void {
    const type = mode === 'data' ? `data.${kind}` : kind;
    const module = moduleName || 'root';
    const characters = name.length + type.length + module.length + provider.length + keyCharacters;
    if (this.listed.length < listedResources && characters <= this.listRoom) {
      this.listRoom -= characters;
      const indexed = keys !== undefined && !(keys.length === 1 && keys[0] === null);
      this.keyRows += indexed ? keys.length : 0;
      this.listed.push({ name, type, count, module, provider, ...(indexed ? { keys } : {}) });
    }
    if (!type.startsWith('data.')) this.managedCount += count;
    const dashed = this.dashedOf(type);
    this.count(this.modules, module, dashed, count);
    this.count(this.providers, provider, dashed, count);
  }

  private dashedOf(type: string): string {
    let dashed = this.dashed.get(type);
    if (dashed === undefined) {
      dashed = type.replace(/_/g, '-');
      if (this.dashed.size < knownTexts) this.dashed.set(type, dashed);
    }
    return dashed;
  }

  private count(table: Counts, key: string, type: string, count: number): void {
    const row = table[key];
    if (row?.[type] !== undefined) {
      row[type] += count;
    } else if (++this.rows <= countedApart && key.length + type.length <= this.countRoom) {
      this.countRoom -= key.length + type.length;
      table[key] = Object.assign(row ?? Object.create(null), { [type]: count });
    }
  }
}

/** The results for the bytes of an upload; `parsed` is undefined if they are not a state. */
export interface Digest {
  readonly md5: string;
  readonly parsed: ParsedState | undefined;
}

/** Takes the bytes of a state piece by piece: computes their MD5, and reads their content. */
export class StateDigest {
  private readonly hash = createHash('md5');
  private readonly reader = new StateReader();
  private broken = false;

  write(piece: Uint8Array): void {
    this.hash.update(piece);
    this.judge(() => this.reader.write(piece));
  }

  end(): Digest {
    return { md5: this.hash.digest('hex'), parsed: this.judge(() => this.reader.end()) };
  }

  private judge<T>(read: () => T): T | undefined {
    try {
      return this.broken ? undefined : read();
    } catch (error) {
      if (!(error instanceof NoState)) throw error;
      this.broken = true;
      return undefined;
    }
  }
}
