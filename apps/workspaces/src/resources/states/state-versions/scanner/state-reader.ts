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
/** Names, types and addresses of resources are shorter; what is longer is left out. */
const fieldBytes = 4 * 1024;
/** All outputs of a state together; those that come after are left out. */
const outputBytes = 16 * 1024 * 1024;
/** Resources listed one by one; counts go on. */
const listedResources = 100_000;
/** Instances listed by their indexes, of all resources together. */
const listedInstances = 100_000;
/** What stays for the names of a resource whose indexes are many. */
const namesRoom = 4 * fieldBytes;
/** What an index costs besides its own characters. */
const keyCost = 4;
/** Characters of everything that is listed, and of everything that is counted apart. */
export const listedCharacters = 16 * 1024 * 1024;
/** Modules and providers that are counted apart. */
const countedApart = 10_000;
/** Texts of resources that are made once. */
const knownTexts = 1_000;

type Counts = Record<string, Record<string, number>>;

/** A resource as its fields come, in any order. */
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

/** Where in a state the reader is: at the top, in its outputs, its list of resources, or one of them. */
type Section = 'outputs' | 'resources' | undefined;

/**
 * Reads what a state says of itself while its bytes pass by, in memory that does not grow with the state. Format 4, or
 * an older one as far as it says the same.
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
  /** Of the instance that is read; undefined if it is not to be listed. */
  private instanceKey: InstanceKey | undefined;
  private isDeposed = false;
  private outputs = new Map<string, unknown>();
  private outputRoom = outputBytes;
  private resources = new ResourceTable();
  private serial: { from: number; to: number } | undefined;
  private serialFrom = 0;

  /** Reads on. Throws NoState if the bytes cannot be a state any more. */
  write(piece: Uint8Array): void {
    translated(() => this.scanner.write(piece));
  }

  /** What was read. Throws NoState. */
  end(): ParsedState {
    translated(() => this.scanner.end());
    const { top, resources } = this;
    const serial = serialIn(top.get('serial'));
    const isPlain = Number.isInteger(top.get('version'));
    // OpenTofu writes the two next to what it encrypted.
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

  /** What a field says; all but names come again and again. */
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

  /** Where the top-level serial stands, in bytes from the start; undefined if there is none. */
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
      // Of a key that comes twice the last one counts, as everywhere in JSON.
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
        // What is about to be destroyed has the address of what takes its place.
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

/** An index as the tool writes it; undefined for anything else. */
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

  /** Keeps the index of an instance as long as there is room. */
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
    module: given,
    name,
    provider,
    instances: count,
    keys,
    keyCharacters,
  }: ResourceFields): void {
    const type = mode === 'data' ? `data.${kind}` : kind;
    const module = given || 'root';
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

/** What is known of bytes that passed; `parsed` is undefined if they are not a state. */
export interface Digest {
  readonly md5: string;
  readonly parsed: ParsedState | undefined;
}

/** Takes the bytes of a state one after the other: their MD5, and what they say of themselves. */
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
