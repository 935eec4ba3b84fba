import { createSecretKey, type KeyObject } from 'node:crypto';
import { parseExact } from '@keystead/envelope';
import type { Barrier } from '../storage/types';
import { DeviceSet } from './device-set';
import { type ClearFields, keyedHash, keyedHashInSlices, longTexts, shownFields } from './hash-leaves';
import { AuditedHeaders, type SentHeaders } from './headers';
import { Remembered } from './remembered';

/** The caller's part of an audit line. */
export interface AuditCaller {
  /** The token as sent; lines contain only its keyed hash. */
  readonly token: string | undefined;
  readonly accessor: string;
  readonly displayName: string;
  readonly policies: readonly string[];
  readonly tokenPolicies: readonly string[];
  readonly entityId: string;
  readonly tokenType: string;
}

/** The namespace of a request. The object must be a new one when its path changes. */
export interface AuditedNamespace {
  readonly id: string;
  readonly path: string;
}

/** The mount of a request. The object must be a new one when its path changes. */
export interface AuditedMount {
  readonly path: string;
  readonly type: string;
  readonly accessor: string;
}

/** The parts of a request that the pipeline has determined so far. */
export interface AuditedRequest {
  readonly id: string;
  /** The id that the caller gave the request. */
  readonly sentId?: string;
  readonly operation: string;
  /** The path as sent; only if the request was refused before its path was parsed. */
  readonly path: string;
  readonly namespace: AuditedNamespace;
  readonly mount?: AuditedMount;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields that the operation declares; undefined if all of them are its data. */
  readonly declared?: ReadonlySet<string>;
  /**
   * The bytes or text that the fields were parsed from, and the length in bytes. Released once the line's text is
   * built.
   */
  sent: { readonly bytes: number; readonly text: string | Uint8Array };
  readonly address: string;
  readonly wrapTtlSeconds: number;
  readonly caller?: AuditCaller;
  readonly clear?: ClearFields;
  /** Fields of the mount's requests and responses that are not hashed. */
  readonly named?: { readonly request: ReadonlySet<string>; readonly response: ReadonlySet<string> };
  /** Whether the keys of the response come from callers. */
  readonly hidesKeys?: boolean;
  /** Headers that are audited, as sent. */
  readonly headers?: SentHeaders;
  /** The part of the request that is the same in both lines, once it is built. */
  text?: string;
  /** Set while `text` is built over several turns, because a timeout may need `text` before it is finished. */
  preparing?: Promise<void>;
  /** The caller's accessor as in the lines, if some device shows accessors. */
  accessorHash?: string;
}

/** A response. Strings contain JSON. The token and accessor in `auth` are hashed like everything else. */
export interface AuditedResponse {
  readonly status: number;
  readonly data?: object | null;
  /** `data` as JSON text, if the answer has it. */
  readonly dataText?: string;
  readonly auth?: Readonly<Record<string, unknown>> | null;
  readonly leaseId?: string;
  readonly wrapToken?: string;
  readonly warnings?: readonly string[];
}

/** Why a request was refused, and the rule that refused it. */
export interface AuditedError {
  readonly message: string;
  readonly rule?: unknown;
}

/** The maximum size of a request's fields in each audit line: the size of the request, within these bounds. */
const leastRoom = 2 * 1024;
const mostRoom = 64 * 1024;
/** The maximum size of an answer's fields in its audit line. */
const answerRoom = 16 * 1024;
/**
 * Above this size, a request body is hashed over several turns of the event loop, and a response is hashed as a whole.
 */
const muchBytes = 256 * 1024;
const longText = 64 * 1024;

const nothingSent: AuditedRequest['sent'] = { bytes: 0, text: '' };

/** Writes one line before a handler runs and one before its answer is sent, to every device. */
export class Audit {
  /** The request headers that appear in lines. */
  readonly headers = new AuditedHeaders((text) => this.hash(text));
  readonly devices: DeviceSet;
  private key: KeyObject | undefined;
  // Mounts, namespaces and callers are the same objects in all requests until they change.
  private readonly texts = new WeakMap<AuditedMount | AuditedNamespace | AuditCaller, string>();
  private readonly hashes = new Remembered(4096, 256);
  /** A cache of the hashes of whole responses, for small secrets that are read repeatedly. */
  private readonly answers = new Remembered(2048, 1024);
  private timeMs = 0;
  private timeText = '';

  constructor(
    private readonly barrier: Barrier,
    log: { warn(fields: object, message: string): void },
  ) {
    this.devices = new DeviceSet(log);
  }

  /** False if no lines are written, so that none are prepared. */
  get active(): boolean {
    return !this.devices.empty;
  }

  /** The keyed hash of a string as in audit lines, for finding a known value in the log. */
  readonly hash = (text: string): string => {
    this.key ??= this.derivedKey();
    return keyedHash(this.key, text);
  };

  // Only hashes of answers are cached, because answers repeat. Input and new secrets rarely repeat.
  private readonly rememberedHash = (text: string): string => this.hashes.of(text, () => this.hash(text));

  /** Forgets the hashing key: the service is being sealed. */
  clear(): void {
    this.key = undefined;
    this.hashes.clear();
    this.answers.clear();
  }

  /** Writes the line of a request to all devices. Undefined if there is none. Throws `AuditFailed`. */
  request(request: AuditedRequest, error?: AuditedError): Promise<void> | undefined {
    if (this.devices.empty) return undefined;
    return this.prepare(request)?.then(() => this.writeRequest(request, error)) ?? this.writeRequest(request, error);
  }

  /** Writes the line of an answer in the same way. */
  response(request: AuditedRequest, response: AuditedResponse, error?: AuditedError): Promise<void> | undefined {
    if (this.devices.empty) return undefined;
    const preparing = this.prepare(request);
    if (preparing) return preparing.then(() => this.writeResponse(request, response, error));
    return this.writeResponse(request, response, error);
  }

  private writeRequest(request: AuditedRequest, error: AuditedError | undefined): Promise<void> {
    return this.write(`{${this.head('request', request, error)}}\n`, request);
  }

  private writeResponse(
    request: AuditedRequest,
    response: AuditedResponse,
    error: AuditedError | undefined,
  ): Promise<void> {
    const line = `{${this.head('response', request, error)},"response":${this.answer(request, response)}}\n`;
    return this.write(line, request, response);
  }

  /** A prepared request as one line, for readers other than the devices. */
  line(request: AuditedRequest): string {
    return `{${this.head('request', request, undefined)}}`;
  }

  private head(type: 'request' | 'response', r: AuditedRequest, error: AuditedError | undefined): string {
    const problem = error
      ? `,"error":${JSON.stringify(truncate(error.message))}${error.rule === undefined ? '' : `,"rule":${JSON.stringify(error.rule)}`}`
      : '';
    return `"time":"${this.time()}","type":"${type}"${r.text}${problem}`;
  }

  /**
   * Builds the request part of the audit lines once: immediately, or over several turns of the event loop for a large
   * request.
   */
  prepare(r: AuditedRequest): Promise<void> | undefined {
    if (r.text !== undefined) return undefined;
    if (r.sent.bytes > muchBytes) {
      r.preparing ??= this.prepareMuch(r);
      return r.preparing;
    }
    const clearFields = shownFields(r.fields, this.hash, this.rulesFor(r));
    r.text = this.requestText(r, clearFields.text, clearFields.whole ? undefined : this.hashOf(r.sent.text));
    return undefined;
  }

  private async prepareMuch(r: AuditedRequest): Promise<void> {
    this.key ??= this.derivedKey();
    const { key } = this;
    const hashes = new Map<string, string>();
    for (const text of longTexts(r.fields, longText)) hashes.set(text, await keyedHashInSlices(key, text));
    const hashText = (text: string): string => (text.length > longText && hashes.get(text)) || this.hash(text);
    const clearFields = shownFields(r.fields, hashText, this.rulesFor(r));
    const whole = clearFields.whole ? undefined : await keyedHashInSlices(key, r.sent.text);
    r.text = this.requestText(r, clearFields.text, whole);
  }

  // The fields get no more room than the length of the request. Two lines contain them, and the chained table contains
  // them a third time.
  private rulesFor({ clear, declared, sent, named }: AuditedRequest) {
    return { clear, declared, named: named?.request, room: Math.min(Math.max(sent.bytes, leastRoom), mostRoom) };
  }

  private requestText(r: AuditedRequest, fields: string, whole: string | undefined): string {
    const mount = r.mount ? this.textOf(r.mount, mountText) : '';
    const data = fields === '' ? '' : `,"data":{${fields}}`;
    const body = whole === undefined ? '' : `,"body":{"bytes":${r.sent.bytes},"hash":"${whole}"}`;
    r.sent = nothingSent;
    const wrap = r.wrapTtlSeconds > 0 ? `,"wrap_ttl":${r.wrapTtlSeconds}` : '';
    const caller = r.caller ? `,"auth":${this.textOf(r.caller, this.callerText)}` : '';
    if (this.devices.showsAccessors && r.caller?.accessor) r.accessorHash = this.hash(r.caller.accessor);
    const headers = r.headers ? this.headers.text(r.headers) : '';
    const sentId = r.sentId === undefined ? '' : `,"sent_id":${JSON.stringify(r.sentId)}`;
    const namespace = this.textOf(r.namespace, namespaceText);
    return `${caller},"request":{"id":"${r.id}"${sentId},"operation":"${r.operation}"${mount}${namespace},"path":${JSON.stringify(
      r.path,
    )}${data}${body},"remote_address":"${r.address}"${wrap}${headers}}`;
  }

  // Many lines are written in the same millisecond, and formatting a date costs as much as the rest of the line.
  private time(): string {
    const now = Date.now();
    if (now !== this.timeMs) {
      this.timeMs = now;
      this.timeText = new Date(now).toISOString();
    }
    return this.timeText;
  }

  private textOf<T extends AuditedMount | AuditedNamespace | AuditCaller>(
    value: T,
    write: (value: T) => string,
  ): string {
    let text = this.texts.get(value);
    if (text === undefined) {
      text = write(value);
      this.texts.set(value, text);
    }
    return text;
  }

  private readonly callerText = (caller: AuditCaller): string => {
    const { hash } = this;
    return JSON.stringify({
      client_token: caller.token === undefined ? undefined : hash(caller.token),
      accessor: caller.accessor === '' ? undefined : hash(caller.accessor),
      display_name: caller.displayName,
      policies: caller.policies,
      token_policies: caller.tokenPolicies,
      entity_id: caller.entityId === '' ? undefined : caller.entityId,
      token_type: caller.tokenType,
    });
  };

  private answer(request: AuditedRequest, a: AuditedResponse): string {
    const { hash } = this;
    let text = `{"status":${a.status}`;
    if (a.dataText !== undefined) text += this.hashedAnswer(a.dataText, a.data, request);
    else if (a.data !== undefined && a.data !== null) text += this.shownAnswer(a.data, request);
    if (a.auth) text += `,"auth":{${shownFields(a.auth, hash, { clear: clearAuth, room: answerRoom }).text}}`;
    if (a.leaseId) text += `,"secret":{"lease_id":${JSON.stringify(a.leaseId)}}`;
    if (a.wrapToken) text += `,"wrap_info":{"token":"${hash(a.wrapToken)}"}`;
    if (a.warnings && a.warnings.length > 0) text += `,"warnings":${JSON.stringify(a.warnings.map(truncate))}`;
    return `${text}}`;
  }

  private hashedAnswer(dataText: string, data: object | null | undefined, request: AuditedRequest): string {
    const compute = () => {
      if (data) return this.shownAnswer(data, request, dataText);
      if (dataText.length > muchBytes) return this.wholeAnswer(dataText);
      return this.shownAnswer(parseExact(dataText) as object, request, dataText);
    };
    const isUsual = request.clear === undefined && !request.named && !request.hidesKeys;
    return isUsual ? this.answers.of(dataText, compute) : compute();
  }

  private shownAnswer(data: object, { clear, named, hidesKeys }: AuditedRequest, dataText?: string): string {
    const rules = { clear, named: named?.response, hidesKeys, room: answerRoom };
    const clearFields = shownFields(data, this.rememberedHash, rules);
    return `,"data":{${clearFields.text}}${clearFields.whole ? '' : this.wholeAnswer(dataText ?? JSON.stringify(data))}`;
  }

  private wholeAnswer(text: string): string {
    return `,"body":{"bytes":${Buffer.byteLength(text)},"hash":"${this.hashOf(text)}"}`;
  }

  private hashOf(text: string | Uint8Array): string {
    this.key ??= this.derivedKey();
    return keyedHash(this.key, text);
  }

  private derivedKey(): KeyObject {
    return createSecretKey(this.barrier.derive('audit'));
  }

  private write(line: string, request: AuditedRequest, response?: AuditedResponse): Promise<void> {
    const { devices } = this;
    return devices.write(line, devices.showsAccessors ? this.withAccessors(line, request, response) : line);
  }

  /** The line with the unhashed accessors of its tokens. */
  private withAccessors(line: string, { caller, accessorHash }: AuditedRequest, response?: AuditedResponse): string {
    let text = line;
    const show = (hash: string, accessor: string) => {
      text = text.replaceAll(`"${hash}"`, () => JSON.stringify(accessor));
    };
    if (accessorHash !== undefined) show(accessorHash, caller!.accessor);
    const newAccessor = response?.auth?.accessor;
    if (typeof newAccessor === 'string' && newAccessor !== '') show(this.hash(newAccessor), newAccessor);
    return text;
  }
}

const clearAuth = [
  ...['policies', 'token_policies', 'identity_policies', 'display_name', 'entity_id', 'token_type'],
  ...['lease_duration', 'num_uses'],
];

const mountText = ({ path, type, accessor }: AuditedMount): string =>
  `,"mount_point":${JSON.stringify(path)},"mount_type":"${type}","mount_accessor":"${accessor}"`;

const namespaceText = ({ id, path }: AuditedNamespace): string =>
  `,"namespace":{"id":"${id}","path":${JSON.stringify(path)}}`;

/** Truncates a string that may contain input, such as names of fields and values that are not numbers. */
function truncate(text: string): string {
  return text.length > 1000 ? `${text.slice(0, 1000)}…` : text;
}
