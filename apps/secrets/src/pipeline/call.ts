import type { Envelope } from '@keystead/envelope';
import type { Guessed, GuessRule } from '../kernel/attempts/attempts';
import type { Place } from '../kernel/routing/place';
import type { WriteSet } from '../kernel/storage/types';
import type { Call, Caller, MountView, NamespaceView, ReusableSecret, Verb } from '../sdk/call';
import type { CanonicalPath, Spelling } from '../sdk/canonical-path';
import { jsonText } from '../sdk/json-text';
import type { Storage } from '../sdk/storage';
import type { Bearer } from './authenticate';
import type { Grant } from './authorize';
import { CallStorage } from './call-storage';
import type { Birthplace } from './issue-token';
import type { Kernel } from './kernel';
import type { Request } from './request';
import { findReusable } from './reuse';

/** Wrong passwords in a row, and how long they lock a name. */
const passwordGuesses: GuessRule = {
  allowed: 5,
  lockSeconds: 15 * 60,
  longestLockSeconds: 15 * 60,
  forgetSeconds: 15 * 60,
};
const noFields: Readonly<Record<string, unknown>> = {};

/** A request on its way through its handler: what the handler sees, and what the steps after it need. */
export class Running implements Call {
  readonly verb: Verb;
  readonly path: CanonicalPath;
  readonly params: Readonly<Record<string, string>>;
  readonly written: Spelling | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  caller: Caller;
  readonly mount: MountView;
  readonly requestId: string;
  readonly mfa: readonly string[];
  readonly sentToken: string | undefined;
  readonly nowMs: number;
  readonly storage: CallStorage;
  readonly namespace: NamespaceView;
  // Own properties, so that handlers may take them out of the call.
  readonly fieldsText = (): string => (this.request.sent.exact ? jsonText(this.fields) : JSON.stringify(this.fields));
  readonly warn = (message: string): void => {
    this.said ??= [];
    this.said.push(message);
  };
  input: Readonly<Record<string, unknown>> = noFields;
  stored: unknown;
  grant: Grant | undefined;
  private said: string[] | undefined;

  constructor(
    readonly kernel: Kernel,
    private readonly request: Request,
    readonly place: Place,
    readonly bearer: Bearer | undefined,
    readonly wrapTtlSeconds: number,
    set: WriteSet,
  ) {
    const mount = place.mount!;
    this.namespace = place.namespace;
    const token = bearer?.record;
    this.verb = request.verb;
    this.path = place.below;
    this.params = place.params;
    this.written = place.written;
    this.fields = request.sent.fields;
    this.requestId = request.id;
    this.mfa = request.mfa;
    this.sentToken = mount.backend.kind === 'system' ? request.token : undefined;
    this.nowMs = kernel.clock.now();
    this.mount = mount.view;
    this.caller = {
      token: bearer?.facts,
      // Of the entity the token's own was merged into, if it was.
      entityId: bearer?.identity?.entityId ?? '',
      displayName: bearer?.facts.displayName ?? '',
      policies: bearer?.policies ?? [],
      root: bearer?.access.root ?? false,
      sudo: false,
      address: request.address,
    };
    const own = mount.backend.storage === 'per-token' && token !== undefined;
    if (own) set.authorities.push(token.hash);
    this.storage = new CallStorage(kernel, set, mount.uuid, own ? `${token.key}/` : '');
  }

  /** The same call on another view of its entries. */
  on(storage: Storage): Call {
    return Object.create(this, { storage: { value: storage } }) as Call;
  }

  /** Lets a handler begin anew. */
  unsay(): void {
    this.said = undefined;
  }

  /** Takes over what the policies said. */
  allow(grant: Grant): void {
    this.grant = grant;
    this.storage.guard = grant.guard;
    if (grant.sudo) this.caller = { ...this.caller, sudo: true };
  }

  findReusable(key: string): Promise<ReusableSecret | undefined> {
    return findReusable(this.kernel, this, key);
  }

  async guess<T>(subject: string, judge: () => Promise<T | undefined>): Promise<T | undefined> {
    if (this.place.operation?.judges !== 'password') throw new Error('an operation that judges passwords must say so');
    const { attempts } = this.kernel;
    const password = this.passwordOf(subject);
    return attempts.inTurn(password, async () => {
      const attempt = await attempts.take(password, passwordGuesses);
      if (!attempt.allowed) return undefined;
      const right = await judge().catch(async (error) => {
        await attempts.giveBack(attempt);
        throw error;
      });
      if (right !== undefined) await attempts.succeed(attempt);
      return right;
    });
  }

  forgetGuesses(subject: string): Promise<void> {
    return this.kernel.attempts.forget(this.passwordOf(subject));
  }

  get birthplace(): Birthplace {
    return { namespace: this.place.namespace, mount: this.place.mount!, path: this.place.path };
  }

  private passwordOf(subject: string): Guessed {
    const mountId = this.mount.uuid;
    return { kind: 'password', subject: `${mountId}/${subject}`, who: { mountId, name: subject } };
  }

  /** Warnings of the answer; the ones about unread fields only where there is a body anyway. */
  warnings(withBody: boolean): Envelope['warnings'] {
    if (!withBody) return this.said ?? null;
    const unread = this.kernel.inputs.warnings(this.place.operation!, this.fields, this.params);
    if (unread.length === 0) return this.said ?? null;
    return [...(this.said ?? []), ...unread];
  }
}
