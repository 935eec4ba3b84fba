import { codeRequired } from '@keystead/console-host';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { ConsoleSessions } from '../../kernel/console/sessions';
import type { ConsoleRules, ConsoleSession, SignedInBy } from '../../kernel/console/types';
import { SentPath } from '../../kernel/routing/sent-path';
import { newWriteSet } from '../../kernel/storage/write-set';
import type { TokenRecord } from '../../kernel/tokens/types';
import type { Kernel } from '../../pipeline/kernel';
import { logIn, mountPath, proveCode } from './password';
import { exchange, findPasted, requireUnlimited } from './pasted-token';
import {
  type PasskeySignIn,
  type PasswordSignIn,
  type ProviderSignIn,
  parseSignIn,
  parseStepUp,
  type SignIn,
  type StepUpProof,
} from './proof';
import { finishLogin, loginPath } from './provider';
import { type From, onTrail } from './trail';

/** The parts of the console's sign-in. */
interface Parts {
  readonly kernel: Kernel;
  readonly sessions: ConsoleSessions;
  readonly rules: ConsoleRules;
  /** The information for a page before sign-in. */
  readonly config: () => Promise<Readonly<Record<string, unknown>>>;
}

/** A session that was just created. */
interface Made {
  readonly id: string;
  readonly session: ConsoleSession;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Sign-in at the console: a token, or a name and a password, becomes a session. The token is never returned. A session
 * can do what its token can do, and no more.
 */
export class ConsoleSignIn {
  constructor(private readonly parts: Parts) {}

  readonly config = (): Promise<Json> => this.parts.config();

  /**
   * Throws `unauthenticated` for wrong credentials, and `invalid` for malformed credentials. If a code is missing, the
   * refusal has an issue at `code`.
   */
  readonly signIn = async (sent: Json, from: From): Promise<{ id: string; seconds: number; view: Json }> => {
    const { kernel, rules } = this.parts;
    const proof = parseSignIn(sent);
    await this.requireOpen(from);
    const { id, session } = await onTrail(
      kernel,
      { operation: 'update', path: 'ui/session', fields: shownFields(proof), from },
      201,
      () => this.with(proof, from),
    );
    return { id, seconds: rules.sessionSeconds, view: await this.view(session) };
  };

  /** Throws `sealed` while the service is sealed. The session continues when it is unsealed. */
  readonly show = async (id: string): Promise<Json | undefined> => {
    if (this.parts.kernel.barrier.sealed) throw new Refusal('sealed', 'the service is sealed');
    const session = await this.find(id, false);
    return session && this.view(session);
  };

  readonly signOut = async (id: string, from: From): Promise<void> => {
    const session = await this.find(id, false);
    if (!session) return;
    const { kernel, sessions } = this.parts;
    await onTrail(kernel, { operation: 'delete', path: 'ui/session', fields: {}, caller: session, from }, 204, () =>
      sessions.end(session),
    );
  };

  /** Throws `unauthenticated` for wrong credentials and if there is no session. */
  readonly stepUp = async (id: string, sent: Json, from: From): Promise<Json> => {
    const { kernel, sessions } = this.parts;
    const proof = parseStepUp(sent);
    await this.requireOpen(from);
    const session = await this.find(id, true);
    if (!session) throw new Refusal('unauthenticated', 'sign in first');
    const [method] = Object.keys(proof) as [string];
    const action = {
      operation: 'update',
      path: 'ui/session/step-up',
      fields: { method },
      caller: session,
      from,
    } as const;
    const proven = await onTrail(kernel, action, 200, async () => {
      await this.prove(session, proof, from);
      return sessions.stepUp(session);
    });
    return this.view(proven);
  };

  /** The session of a page's request; undefined while sealed. */
  readonly find = async (id: string, use: boolean): Promise<ConsoleSession | undefined> => {
    const { kernel, sessions } = this.parts;
    return kernel.barrier.sealed ? undefined : sessions.find(id, { use });
  };

  private with(proof: SignIn, from: From): Promise<Made> {
    if (proof.method === 'token') return this.withToken(proof, from);
    if (proof.method === 'passkey') return this.withPasskey(proof, from);
    return proof.method === 'oidc' ? this.withProvider(proof, from) : this.withPassword(proof, from);
  }

  private async withProvider(proof: ProviderSignIn, from: From): Promise<Made> {
    const { namespace = '' } = proof;
    const token = await finishLogin(this.parts.kernel, proof, from);
    return this.begin(token, (record) => {
      requireOf(proof, record);
      return { method: 'oidc', mount: mountPath(proof.mount), username: record.displayName, namespace };
    });
  }

  private async withPasskey(proof: PasskeySignIn, from: From): Promise<Made> {
    const { namespace = '' } = proof;
    const token = await finishLogin(this.parts.kernel, proof, from);
    return this.begin(token, (record) => {
      requireOf(proof, record);
      const { username = '' } = record.meta ?? {};
      return { method: 'userpass', mount: mountPath(proof.mount), username, namespace, withPasskey: true };
    });
  }

  private async withToken({ token }: Extract<SignIn, { method: 'token' }>, from: From): Promise<Made> {
    const { kernel, sessions, rules } = this.parts;
    const pasted = token.trim();
    const record = await findPasted(kernel, pasted, from);
    const set = newWriteSet();
    const sessionToken = exchange(kernel, { token: pasted, record }, rules, set);
    const session = sessions.begin(sessionToken, { method: 'token', pasted: record.key }, set);
    await kernel.committer.commit(set);
    return session;
  }

  private async withPassword(proof: PasswordSignIn, from: From): Promise<Made> {
    const { kernel } = this.parts;
    const { method, username, code, namespace = '' } = proof;
    const outcome = await logIn(kernel, proof, from);
    if ('requirement' in outcome && !code) throw codeRequired();
    const token =
      'token' in outcome ? outcome.token : await proveCode(kernel, outcome.requirement, code!, namespace, from);
    return this.begin(token, () => ({ method, mount: mountPath(proof.mount), username, namespace }));
  }

  /** A session with the token of a login; the token is revoked if the session cannot be created. */
  private async begin(token: string, byOf: (record: TokenRecord) => SignedInBy): Promise<Made> {
    const { kernel, sessions } = this.parts;
    const record = await kernel.tokens.find(token);
    if (!record) throw new Refusal('unauthenticated', 'the token of the login was revoked immediately');
    try {
      requireUnlimited(record);
      const set = newWriteSet();
      const session = sessions.begin({ token, record }, byOf(record), set);
      await kernel.committer.commit(set);
      return session;
    } catch (error) {
      await this.letGo(record);
      throw error;
    }
  }

  /** Throws `unauthenticated`. */
  private async prove({ by, record }: ConsoleSession, proof: StepUpProof, from: From): Promise<void> {
    const { kernel } = this.parts;
    if ('code' in proof) return this.proveCode(record, proof.code);
    if ('passkey' in proof) return this.provePasskey(by, proof, from);
    if ('token' in proof) {
      const pasted = await kernel.tokens.find(proof.token.trim());
      if (by.method === 'token' && pasted?.key === by.pasted) return;
      throw new Refusal('unauthenticated', 'this is not the token of this session');
    }
    if (by.method !== 'userpass' && by.method !== 'ldap') {
      throw new Refusal('unauthenticated', 'this session has no password');
    }
    const outcome = await logIn(kernel, { ...by, method: by.method, password: proof.password }, from);
    // The password was correct. The token of this login is not used.
    const token = 'token' in outcome ? await kernel.tokens.find(outcome.token) : undefined;
    if (token) await this.letGo(token);
  }

  private async provePasskey(
    by: SignedInBy,
    { passkey, nonce }: Extract<StepUpProof, { passkey: unknown }>,
    from: From,
  ): Promise<void> {
    const { kernel } = this.parts;
    if (by.method !== 'userpass') throw new Refusal('unauthenticated', 'this session has no passkey');
    const { mount, namespace } = by;
    const login = { method: 'passkey', mount, namespace, passkey, nonce } as const;
    const token = await finishLogin(kernel, login, from).catch((error) => {
      if (!isRefusal(error) || error.kind !== 'invalid') throw error;
      throw new Refusal('unauthenticated', 'a login with this passkey needs a code as well: confirm with a code');
    });
    const record = await kernel.tokens.find(token);
    if (record) await this.letGo(record);
    if (record?.meta?.username !== by.username)
      throw new Refusal('unauthenticated', 'this is the passkey of another user');
  }

  private async proveCode({ entityId = '' }: TokenRecord, code: string): Promise<void> {
    const { mfa } = this.parts.kernel;
    for (const [id, { namespaceId }] of await this.methodsOf(entityId)) {
      try {
        return await mfa.stepUp.prove(entityId, [{ namespaceId, method: id }], [`${id}:${code.trim()}`]);
      } catch (error) {
        if (!isRefusal(error) || error.kind !== 'denied') throw error;
      }
    }
    throw new Refusal('unauthenticated', 'the code is wrong, or was used before');
  }

  private async methodsOf(entityId: string) {
    const { mfa } = this.parts.kernel;
    return mfa.methods.findMany(await mfa.secrets.methodIdsOf(entityId));
  }

  private async letGo(record: TokenRecord): Promise<void> {
    if (record.type === 'service') await this.parts.kernel.leases.endToken(record);
  }

  /** Throws `sealed`, and `limited` if an address asks too often. */
  private async requireOpen({ address }: From): Promise<void> {
    const { barrier, namespaces, mounts, quotas } = this.parts.kernel;
    if (barrier.sealed) throw new Refusal('sealed', 'the service is sealed');
    await namespaces.refresh();
    await mounts.refresh();
    const { uuid: namespaceId } = namespaces.root;
    const { path } = knownPath.locate(namespaces, mounts, 'write', '');
    quotas.check({
      namespaceId,
      mountUuid: undefined,
      path,
      folding: undefined,
      address,
    });
  }

  /** The data of a session for the page, without secrets. */
  private async view({ by, record, idleEndsAtMs, expiresAtMs, stepUpUntilMs }: ConsoleSession): Promise<Json> {
    const { kernel } = this.parts;
    const now = kernel.clock.now();
    const identity = record.entityId === undefined ? undefined : await kernel.identity.find(record.entityId);
    const policies = new Set([...record.policies, ...(identity?.policies ?? []).flatMap(({ names }) => names)]);
    const codes = record.entityId !== undefined && (await this.methodsOf(record.entityId)).size > 0;
    const endsAtMs = record.renewable ? expiresAtMs : Math.min(expiresAtMs, record.expiresAtMs ?? expiresAtMs);
    return {
      name: by.method !== 'token' ? by.username : (identity?.subject.entity?.name ?? (record.displayName || 'token')),
      kind: by.method,
      'expires-at': timeText(endsAtMs),
      'idle-ends-at': timeText(Math.min(idleEndsAtMs, endsAtMs)),
      'step-up-until': stepUpUntilMs > now ? timeText(stepUpUntilMs) : null,
      'step-up-methods': [
        ...(by.method === 'userpass' && by.withPasskey ? ['passkey'] : []),
        ...(stepUpBy[by.method] ?? []),
        ...(codes ? ['code'] : []),
      ],
      ...(by.method === 'userpass' ? { mount: by.mount } : {}),
      policies: [...policies].sort(),
      accessor: record.accessor,
      'entity-id': identity?.entityId ?? null,
      namespace: kernel.namespaces.find(record.namespaceId)?.path ?? '',
      'token-type': record.type,
    };
  }
}

/** Checks the credentials of a step-up. A person from a provider signs in there again instead. */
const stepUpBy: Partial<Record<SignedInBy['method'], readonly string[]>> = {
  userpass: ['password'],
  ldap: ['password'],
  token: ['token'],
};

/**
 * Throws unless a login was made at the mount of its proof. A waiting login may belong to anyone, so otherwise another
 * person could confirm the session.
 */
function requireOf(proof: ProviderSignIn | PasskeySignIn, { path }: TokenRecord): void {
  if (path !== loginPath(proof)) throw new Refusal('unauthenticated', 'this is the code of another sign-in');
}

const knownPath = SentPath.read('ui/session') as SentPath;

function shownFields(proof: SignIn): Record<string, string> {
  if (proof.method === 'token') return { method: 'token', token: proof.token.trim() };
  const { method, mount, namespace } = proof;
  return {
    method,
    mount,
    ...('username' in proof ? { username: proof.username } : {}),
    ...(namespace ? { namespace } : {}),
  };
}

const timeText = (ms: number): string => new Date(ms).toISOString();
