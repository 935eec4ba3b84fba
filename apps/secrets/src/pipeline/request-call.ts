import { readBasic } from '@keystead/auth';
import { type Envelope, jsonText } from '@keystead/envelope';
import type { Guessed } from '../kernel/attempts/attempts';
import { passwordRule } from '../kernel/mounts/mount';
import { fillTemplate, isTemplated } from '../kernel/policy/template';
import type { DemandedMethod } from '../kernel/policy/types';
import { questionOf, type RouteMatch, SentPath } from '../kernel/routing/sent-path';
import type { Call, Caller, LiveLease, MountView, NamespaceView, ReusableSecret, Verb } from '../sdk/call';
import type { CanonicalPath, Spelling } from '../sdk/canonical-path';
import type { Storage } from '../sdk/storage';
import { PolicyDenied, requireStepUp } from './authorize';
import type { Birthplace } from './issue-token';
import type { Kernel } from './kernel';
import { type Bearer, type Located, markSent, nothingSent, type Request } from './request';
import { findReusable } from './reuse';

const noFields: Readonly<Record<string, unknown>> = {};
const none: readonly string[] = [];
const anyValue = { allowsWildcardsInTemplates: true, allowsSlashesInTemplates: true };

/** A request as its handler sees it. It also has everything that is needed to turn the reply into a response. */
export class RequestCall implements Call {
  readonly verb: Verb;
  readonly path: CanonicalPath;
  readonly params: Readonly<Record<string, string>>;
  readonly written: Spelling | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly mount: MountView;
  readonly requestId: string;
  readonly mfa: readonly string[];
  readonly headOnly: boolean;
  readonly sentToken: string | undefined;
  readonly nowMs: number;
  readonly namespace: NamespaceView;
  readonly match: RouteMatch;
  readonly bearer: Bearer | undefined;
  readonly wrapTtlSeconds: number;
  private readonly proven: readonly DemandedMethod[] | undefined;
  private messages: string[] | undefined;

  constructor(
    private readonly kernel: Kernel,
    private readonly request: Request,
    context: Located,
    readonly storage: Storage,
    readonly input: Readonly<Record<string, unknown>> = noFields,
    readonly stored: unknown = context.grant?.stored,
  ) {
    const { match, bearer } = context;
    const mount = match.mount!;
    this.match = match;
    this.bearer = bearer;
    this.wrapTtlSeconds = context.wrapTtlSeconds;
    this.proven = context.grant?.decision?.rule?.mfaMethods;
    this.namespace = match.namespace;
    this.verb = request.verb;
    this.path = match.below;
    this.params = match.params;
    this.written = match.spelling;
    this.fields = match.operation?.freeform ? request.sent.fields : markSent(request.sent);
    this.requestId = request.id;
    this.mfa = request.mfa;
    this.headOnly = request.headOnly;
    this.sentToken = mount.backend.kind === 'system' ? request.token : undefined;
    this.nowMs = kernel.clock.now();
    this.mount = mount.view;
    this.caller = {
      token: bearer?.facts,
      // If the token's entity was merged, the entity that it was merged into.
      entityId: bearer?.identity?.entityId ?? '',
      displayName: bearer?.facts.displayName ?? '',
      policies: bearer?.policies ?? [],
      root: bearer?.access.root ?? false,
      sudo: context.grant?.sudo ?? false,
      address: request.address,
    };
  }

  // These are getters that return functions. So handlers can destructure them, and only the functions that a call uses
  // are created.
  get fieldsText(): Call['fieldsText'] {
    return () => (this.request.sent.exact ? jsonText(this.fields) : JSON.stringify(this.fields));
  }

  get requireRight(): Call['requireRight'] {
    return ({ operation, path, fields = noFields, destroys = false }) => {
      const { namespaces, mounts } = this.kernel;
      const verb = operation === 'create' || operation === 'update' ? 'write' : operation;
      const match = SentPath.ofField(this.mount.path + path, 'path').locate(
        namespaces,
        mounts,
        verb,
        this.namespace.path,
      );
      if (match.mount !== this.match.mount || !match.operation) throw new Error(`${path} is not a path of this mount`);
      if (destroys) requireStepUp(this.request, match.operation);
      const { access } = this.bearer!;
      if (access.root) return;
      const wrapTtlSeconds = this.wrapTtlSeconds > 0 ? this.wrapTtlSeconds : undefined;
      const decision = access.decide({ ...questionOf(match), operation, parameters: fields, wrapTtlSeconds });
      if (!decision.allowed) throw new PolicyDenied(decision, `: ${operation} on ${match.path}`);
      // Factors that were proven for the request itself are also accepted here, because a passcode cannot be used twice.
      const proven = this.proven ?? [];
      const isProven = (decision.rule?.mfaMethods ?? []).every((requirement) =>
        proven.some((one) => one.method === requirement.method && one.namespacePath === requirement.namespacePath),
      );
      if (!isProven) throw new PolicyDenied(decision, `: ${match.path} asks for a second factor of every request`);
    };
  }

  get warn(): Call['warn'] {
    return (message) => {
      this.messages ??= [];
      this.messages.push(message);
    };
  }

  get alongside(): Call['alongside'] {
    return (work) => {
      const { inBackground, barrier, log } = this.kernel;
      inBackground(this.match.mount!, work).catch((error) => {
        if (!barrier.sealed) log.warn({ err: error, mount: this.mount.path }, 'background work of a request failed');
      });
    };
  }

  filled(text: string): string | undefined {
    if (!isTemplated(text)) return text;
    return fillTemplate(text, this.bearer?.identity?.subject, anyValue);
  }

  certificates(): readonly Buffer[] {
    return this.request.certificates();
  }

  findReusable(key: string): Promise<ReusableSecret | undefined> {
    return findReusable(this.kernel, this, key);
  }

  async liveLeases(below: string, most: number): Promise<LiveLease[]> {
    const { leases } = await this.kernel.leases.timeline({
      namespaceId: this.match.namespace.uuid,
      mountIds: [this.mount.uuid],
      prefix: this.mount.path + below,
      failing: false,
      limit: most,
    });
    return leases.flatMap(({ lease: { id, state, issuedAtMs, expiresAtMs, internal } }) =>
      state === 'live' ? [{ id, issuedAtMs, expiresAtMs, internal }] : [],
    );
  }

  async guess<T>(subject: string, judge: () => Promise<T | undefined>): Promise<T | undefined> {
    if (this.match.operation?.judges !== 'password')
      throw new Error('an operation that checks passwords must declare it');
    const { attempts } = this.kernel;
    const rule = passwordRule(this.match.mount!.config.userLockout);
    if (!rule) return judge();
    return attempts.check(this.passwordOf(subject), rule, judge);
  }

  async isLocked(subject: string): Promise<boolean> {
    if (!passwordRule(this.match.mount!.config.userLockout)) return false;
    return this.kernel.attempts.isLocked(this.passwordOf(subject));
  }

  forgetGuesses(subject: string): Promise<void> {
    return this.kernel.attempts.forget(this.passwordOf(subject));
  }

  get sentBasic(): { name: string; password: string } | undefined {
    if (this.match.mount?.backend.kind !== 'system') return undefined;
    return readBasic(this.request.header('authorization')?.[0]);
  }

  get birthplace(): Birthplace {
    return {
      namespace: this.match.namespace,
      mount: this.match.mount!,
      path: this.match.path,
      address: this.caller.address,
    };
  }

  private passwordOf(subject: string): Guessed {
    const mountId = this.mount.uuid;
    return { kind: 'password', subject: `${mountId}/${subject}`, who: { mountId, name: subject } };
  }

  /** Whether the request has unknown fields. If so, even a response without a body gets a warning. */
  get ignoresFields(): boolean {
    return this.kernel.inputs.unknown(this.match.operation!, this.fields, this.params).length > 0;
  }

  /**
   * The warnings of the response, and additional ones. Warnings about unread fields are added only if there is a body.
   */
  warnings(withBody: boolean, further: readonly string[] = none): Envelope['warnings'] {
    const unread =
      withBody && this.request.sent !== nothingSent
        ? this.kernel.inputs.warnings(this.match.operation!, this.fields, this.params)
        : none;
    if (!this.messages && further.length === 0 && unread.length === 0) return null;
    return [...(this.messages ?? none), ...further, ...unread];
  }
}
