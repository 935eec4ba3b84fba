import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Barrier } from '../storage/types';
import type { AuditDevice } from './device';
import { type ClearFields, hashedText } from './hash-leaves';
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
  readonly path: string;
  readonly namespace: { readonly id: string; readonly path: string };
  readonly mount?: { readonly path: string; readonly type: string; readonly accessor: string };
  readonly fields: Readonly<Record<string, unknown>>;
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

/**
 * Writes one line before a handler runs and one before its answer goes out, to every device. A line counts as written
 * when one device has it; a device that fails is named in the log, and in the error when no other was left.
 */
export class Audit {
  /** Lines that a device did not take, since the start. */
  failures = 0;
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
    this.key ??= createSecretKey(this.barrier.derive('audit'));
    return `hmac-sha256:${createHmac('sha256', this.key).update(text).digest('hex')}`;
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
    return this.write(`{${this.head('request', request, error)}}\n`);
  }

  response(request: AuditedRequest, response: AuditedResponse, error?: AuditedError): Promise<void> | undefined {
    if (this.devices.size === 0) return undefined;
    return this.write(`{${this.head('response', request, error)},"response":${this.answer(request, response)}}\n`);
  }

  /** A request as one line, for keepers beside the devices. */
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
      ? `,"error":${JSON.stringify(error.message)}${error.rule === undefined ? '' : `,"rule":${JSON.stringify(error.rule)}`}`
      : '';
    r.text ??= this.requestText(r);
    return `"time":"${this.time()}","type":"${type}"${r.text}${problem}`;
  }

  private requestText(r: AuditedRequest): string {
    const { hash } = this;
    const mount = r.mount
      ? `,"mount_point":${JSON.stringify(r.mount.path)},"mount_type":"${r.mount.type}","mount_accessor":"${r.mount.accessor}"`
      : '';
    const data = hasFields(r.fields) ? `,"data":${hashedText(r.fields, hash, r.clear)}` : '';
    const wrap = r.wrapTtlSeconds > 0 ? `,"wrap_ttl":${r.wrapTtlSeconds}` : '';
    const caller = r.caller ? `,"auth":${this.callerText(r.caller)}` : '';
    return `${caller},"request":{"id":${JSON.stringify(r.id)},"operation":"${r.operation}"${mount},"namespace":{"id":"${
      r.namespace.id
    }","path":${JSON.stringify(r.namespace.path)}},"path":${JSON.stringify(r.path)}${data},"remote_address":"${
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
    if (a.dataText !== undefined) text += `,"data":${this.hashedAnswer(a.dataText, request.clear)}`;
    else if (a.data !== undefined && a.data !== null)
      text += `,"data":${hashedText(a.data, this.rememberedHash, request.clear)}`;
    if (a.auth) text += `,"auth":${hashedText(a.auth, hash, clearAuth)}`;
    if (a.leaseId) text += `,"secret":{"lease_id":${JSON.stringify(a.leaseId)}}`;
    if (a.wrapToken) text += `,"wrap_info":{"token":"${hash(a.wrapToken)}"}`;
    if (a.warnings && a.warnings.length > 0) text += `,"warnings":${JSON.stringify(a.warnings)}`;
    return `${text}}`;
  }

  private hashedAnswer(dataText: string, clear: ClearFields): string {
    const known = clear === undefined ? this.answers.get(dataText) : undefined;
    if (known !== undefined) return known;
    const hashed = hashedText(JSON.parse(dataText), this.rememberedHash, clear);
    if (clear === undefined) this.answers.set(dataText, hashed);
    return hashed;
  }

  private write(line: string): Promise<void> {
    if (this.devices.size === 1) {
      for (const device of this.devices.values()) {
        return device.write(line).catch((error) => {
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
    this.tell(failures);
  }

  private refuse(failures: readonly Error[]): AuditFailed {
    this.tell(failures);
    return new AuditFailed(failures.map(({ message }) => message).join('; '), { cause: failures[0] });
  }

  private tell(failures: readonly Error[]): void {
    this.failures += failures.length;
    for (const failure of failures) this.log.warn({ err: failure }, failure.message);
  }
}

const clearAuth = ['policies', 'token_policies', 'identity_policies', 'display_name', 'entity_id', 'token_type'];

function hasFields(fields: object): boolean {
  for (const _ in fields) return true;
  return false;
}
