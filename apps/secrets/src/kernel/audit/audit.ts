import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Barrier } from '../storage/types';
import type { AuditDevice } from './device';
import { type ClearFields, longTexts, shownFields } from './hash-leaves';
import { keyedHash, keyedHashInSlices } from './keyed-hash';
import { Remembered } from './remembered';

/** The caller's part of an audit line. */
export interface AuditCaller {
  /** The token as sent; only its keyed hash is written. */
  readonly token: string | undefined;
  readonly accessor: string;
  readonly displayName: string;
  readonly policies: readonly string[];
  readonly tokenPolicies: readonly string[];
  readonly entityId: string;
  readonly tokenType: string;
}

/** A request on its way through the pipeline, as far as it is known. */
export interface AuditedRequest {
  readonly id: string;
  readonly operation: string;
  /** As sent only where the request was refused before its path was read. */
  readonly path: string;
  readonly namespace: { readonly id: string; readonly path: string };
  readonly mount?: { readonly path: string; readonly type: string; readonly accessor: string };
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields that the operation declares; undefined where all of them are its data. */
  readonly declared?: ReadonlySet<string>;
  /** What the fields were read from, and its length in bytes. Let go once the line's text is made. */
  sent: { readonly bytes: number; readonly text: string | Uint8Array };
  readonly address: string;
  readonly wrapTtlSeconds: number;
  readonly caller?: AuditCaller;
  readonly clear?: ClearFields;
  /** Its part of both lines, once it was made. */
  text?: string;
}

/** What was answered. Texts are JSON; the token and accessor of `auth` are hashed like everything else. */
export interface AuditedResponse {
  readonly status: number;
  readonly data?: unknown;
  readonly dataText?: string;
  readonly auth?: Readonly<Record<string, unknown>> | null;
  readonly leaseId?: string;
  readonly wrapToken?: string;
  readonly warnings?: readonly string[];
}

/** Why a request was refused, and by which rule. */
export interface AuditedError {
  readonly message: string;
  readonly rule?: unknown;
}

/** No device took a line: the request must not go on. */
export class AuditFailed extends Error {
  override readonly name = 'AuditFailed';
}

/** Room for the fields of a request in each of its lines: as much as was sent, within these. */
const leastRoom = 2 * 1024;
const mostRoom = 64 * 1024;
/** Room for an answer's. */
const answerRoom = 16 * 1024;
/** Above it a body is hashed over several turns of the event loop, and an answer as a whole. */
const muchBytes = 256 * 1024;
const longText = 64 * 1024;

/** How often at most a device that takes nothing is tried for nobody's sake. */
const triedEveryMs = 250;

const nothingSent: AuditedRequest['sent'] = { bytes: 0, text: '' };

/**
 * Writes one line before a handler runs and one before its answer goes out, to every device. A line counts as written
 * when one device has it; a device that fails is named in the log, and in the error when no other was left.
 */
export class Audit {
  /** Lines that a device did not take, since the start. */
  failures = 0;
  /** Lines that no device took, since one took the last. */
  private refused = 0;
  private refusedSinceMs = 0;
  private triedMs = 0;
  private readonly devices = new Map<string, AuditDevice>();
  private key: KeyObject | undefined;
  private readonly callerTexts = new WeakMap<AuditCaller, string>();
  private readonly hashes = new Remembered(4096, 256);
  /** Hashed texts of whole answers: small secrets that are read again and again. */
  private readonly answers = new Remembered(2048, 1024);
  private timeMs = 0;
  private timeText = '';

  constructor(
    private readonly barrier: Barrier,
    private readonly log: { warn(fields: object, message: string): void },
  ) {}

  /** False when nothing is written at all: then nothing needs to be prepared either. */
  get active(): boolean {
    return this.devices.size > 0;
  }

  /**
   * Whether lines are taken: what a balancer asks. After lines that no device took it tries with one that says so, now
   * and then, because nobody may be sending requests any more.
   */
  async accepts(): Promise<boolean> {
    if (this.refused === 0) return true;
    const now = Date.now();
    if (now - this.triedMs < triedEveryMs) return false;
    this.triedMs = now;
    const line = { time: new Date(now).toISOString(), type: 'gap', since: new Date(this.refusedSinceMs).toISOString() };
    await this.write(`${JSON.stringify({ ...line, refused: this.refused })}\n`).catch(() => {});
    return this.refused === 0;
  }

  add(device: AuditDevice): void {
    this.devices.set(device.path, device);
  }

  list(): AuditDevice[] {
    return [...this.devices.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  find(path: string): AuditDevice | undefined {
    return this.devices.get(path.endsWith('/') ? path : `${path}/`);
  }

  /** The keyed hash of a text as it stands in the lines; for finding a known value in a log. */
  readonly hash = (text: string): string => {
    this.key ??= this.derivedKey();
    return keyedHash(this.key, text);
  };

  // For answers, which repeat. What is sent and what was just made hardly does, and would only fill the memory.
  private readonly rememberedHash = (text: string): string => {
    const known = this.hashes.get(text);
    if (known !== undefined) return known;
    const hashed = this.hash(text);
    this.hashes.set(text, hashed);
    return hashed;
  };

  /** Forgets the hashing key: the service is being sealed. */
  clear(): void {
    this.key = undefined;
    this.hashes.clear();
    this.answers.clear();
  }

  /** Undefined when there is nothing to wait for. */
  request(request: AuditedRequest, error?: AuditedError): Promise<void> | undefined {
    if (this.devices.size === 0) return undefined;
    const write = () => this.write(`{${this.head('request', request, error)}}\n`);
    return this.prepare(request)?.then(write) ?? write();
  }

  response(request: AuditedRequest, response: AuditedResponse, error?: AuditedError): Promise<void> | undefined {
    if (this.devices.size === 0) return undefined;
    const write = () =>
      this.write(`{${this.head('response', request, error)},"response":${this.answer(request, response)}}\n`);
    return this.prepare(request)?.then(write) ?? write();
  }

  /** A request that is prepared as one line, for keepers beside the devices. */
  line(request: AuditedRequest): string {
    return `{${this.head('request', request, undefined)}}`;
  }

  async reopen(): Promise<void> {
    for (const device of this.devices.values()) await device.reopen();
  }

  async close(): Promise<void> {
    for (const device of this.devices.values()) await device.close();
  }

  private head(type: 'request' | 'response', r: AuditedRequest, error: AuditedError | undefined): string {
    const problem = error
      ? `,"error":${JSON.stringify(cut(error.message))}${error.rule === undefined ? '' : `,"rule":${JSON.stringify(error.rule)}`}`
      : '';
    return `"time":"${this.time()}","type":"${type}"${r.text}${problem}`;
  }

  /** Makes a request's part of its lines, once: at once, or over several turns of the event loop where there is much. */
  prepare(r: AuditedRequest): Promise<void> | undefined {
    if (r.text !== undefined) return undefined;
    if (r.sent.bytes > muchBytes) return this.prepareMuch(r);
    const shown = shownFields(r.fields, this.hash, this.rulesFor(r));
    r.text = this.requestText(r, shown.text, shown.whole ? undefined : this.hashOf(r.sent.text));
    return undefined;
  }

  private async prepareMuch(r: AuditedRequest): Promise<void> {
    this.key ??= this.derivedKey();
    const { key } = this;
    const hashes = new Map<string, string>();
    for (const text of longTexts(r.fields, longText)) hashes.set(text, await keyedHashInSlices(key, text));
    const known = (text: string): string => (text.length > longText && hashes.get(text)) || this.hash(text);
    const shown = shownFields(r.fields, known, this.rulesFor(r));
    r.text ??= this.requestText(r, shown.text, shown.whole ? undefined : await keyedHashInSlices(key, r.sent.text));
  }

  // Two lines have it, and the chained table a third time; what was sent was at least as long.
  private rulesFor({ clear, declared, sent }: AuditedRequest) {
    return { clear, declared, room: Math.min(Math.max(sent.bytes, leastRoom), mostRoom) };
  }

  private requestText(r: AuditedRequest, fields: string, whole: string | undefined): string {
    const mount = r.mount
      ? `,"mount_point":${JSON.stringify(r.mount.path)},"mount_type":"${r.mount.type}","mount_accessor":"${r.mount.accessor}"`
      : '';
    const data = fields === '' ? '' : `,"data":{${fields}}`;
    const body = whole === undefined ? '' : `,"body":{"bytes":${r.sent.bytes},"hash":"${whole}"}`;
    r.sent = nothingSent;
    const wrap = r.wrapTtlSeconds > 0 ? `,"wrap_ttl":${r.wrapTtlSeconds}` : '';
    const caller = r.caller ? `,"auth":${this.callerText(r.caller)}` : '';
    return `${caller},"request":{"id":${JSON.stringify(r.id)},"operation":"${r.operation}"${mount},"namespace":{"id":"${
      r.namespace.id
    }","path":${JSON.stringify(r.namespace.path)}},"path":${JSON.stringify(r.path)}${data}${body},"remote_address":"${
      r.address
    }"${wrap}}`;
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

  private callerText(caller: AuditCaller): string {
    let text = this.callerTexts.get(caller);
    if (text === undefined) {
      const { hash } = this;
      text = JSON.stringify({
        client_token: caller.token === undefined ? undefined : hash(caller.token),
        accessor: caller.accessor === '' ? undefined : hash(caller.accessor),
        display_name: caller.displayName,
        policies: caller.policies,
        token_policies: caller.tokenPolicies,
        entity_id: caller.entityId === '' ? undefined : caller.entityId,
        token_type: caller.tokenType,
      });
      this.callerTexts.set(caller, text);
    }
    return text;
  }

  private answer(request: AuditedRequest, a: AuditedResponse): string {
    const { hash } = this;
    let text = `{"status":${a.status}`;
    if (a.dataText !== undefined) text += this.hashedAnswer(a.dataText, request.clear);
    else if (a.data !== undefined && a.data !== null) text += this.shownAnswer(a.data, request.clear);
    if (a.auth) text += `,"auth":{${shownFields(a.auth, hash, { clear: clearAuth, room: answerRoom }).text}}`;
    if (a.leaseId) text += `,"secret":{"lease_id":${JSON.stringify(a.leaseId)}}`;
    if (a.wrapToken) text += `,"wrap_info":{"token":"${hash(a.wrapToken)}"}`;
    if (a.warnings && a.warnings.length > 0) text += `,"warnings":${JSON.stringify(a.warnings.map(cut))}`;
    return `${text}}`;
  }

  private hashedAnswer(dataText: string, clear: ClearFields): string {
    const known = clear === undefined ? this.answers.get(dataText) : undefined;
    if (known !== undefined) return known;
    const hashed =
      dataText.length > muchBytes
        ? this.wholeAnswer(dataText)
        : this.shownAnswer(JSON.parse(dataText), clear, dataText);
    if (clear === undefined) this.answers.set(dataText, hashed);
    return hashed;
  }

  private shownAnswer(data: object, clear: ClearFields, dataText?: string): string {
    const shown = shownFields(data, this.rememberedHash, { clear, room: answerRoom });
    return `,"data":{${shown.text}}${shown.whole ? '' : this.wholeAnswer(dataText ?? JSON.stringify(data))}`;
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

  private write(line: string): Promise<void> {
    if (this.devices.size === 1) {
      for (const device of this.devices.values()) {
        return device.write(line).then(this.taken, (error) => {
          throw this.refuse([error]);
        });
      }
    }
    return this.writeAll(line);
  }

  private async writeAll(line: string): Promise<void> {
    const results = await Promise.allSettled([...this.devices.values()].map((device) => device.write(line)));
    const failures = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
    if (failures.length === results.length) throw this.refuse(failures);
    this.taken();
    this.tell(failures);
  }

  private readonly taken = (): void => {
    this.refused = 0;
  };

  private refuse(failures: readonly Error[]): AuditFailed {
    if (this.refused === 0) this.refusedSinceMs = Date.now();
    this.refused += 1;
    this.tell(failures);
    return new AuditFailed(failures.map(({ message }) => message).join('; '), { cause: failures[0] });
  }

  private tell(failures: readonly Error[]): void {
    this.failures += failures.length;
    for (const failure of failures) this.log.warn({ err: failure }, failure.message);
  }
}

const clearAuth = ['policies', 'token_policies', 'identity_policies', 'display_name', 'entity_id', 'token_type'];

/** A text that may repeat what was sent: names of fields, values that are no numbers. */
function cut(text: string): string {
  return text.length > 1000 ? `${text.slice(0, 1000)}…` : text;
}
