import type { Auth } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { MfaRequirement } from '../kernel/mfa/logins';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Namespace } from '../kernel/namespaces/namespaces';
import type { WriteSet } from '../kernel/storage/types';
import { authOf } from '../kernel/tokens/auth-block';
import type { TokenRecord, TokenSpec } from '../kernel/tokens/types';
import { lifetime } from '../sdk/lifetime';
import type { Issue, Login } from '../sdk/reply';
import type { Kernel } from './kernel';

/** A token that was added to a write set, and its part of the answer. */
export interface Issued {
  readonly auth: Auth;
  readonly warnings: readonly string[];
}

/** Where a token is created. */
export interface Birthplace {
  readonly namespace: Namespace;
  readonly mount: LiveMount;
  /** Inside the namespace. */
  readonly path: string;
  /** The address of the client. */
  readonly address: string;
}

/** Mints a token that the token backend has already checked. */
export async function issueToken(
  kernel: Kernel,
  at: Birthplace,
  parent: TokenRecord | undefined,
  issue: Issue,
  set: WriteSet,
): Promise<Issued> {
  const spec: TokenSpec = {
    type: issue.type,
    id: issue.id,
    parent: issue.orphan ? undefined : parent,
    authenticatedAtMs: parent?.authenticatedAtMs,
    namespaceId: at.namespace.uuid,
    namespaceShortId: shortIdOf(at.namespace),
    path: issue.path,
    displayName: issue.displayName,
    policies: issue.policies,
    meta: issue.meta,
    entityId: issue.entityId === '' ? undefined : issue.entityId,
    mountId: at.mount.uuid,
    role: issue.role,
    ttlSeconds: issue.ttlSeconds,
    explicitMaxTtlSeconds: issue.explicitMaxTtlSeconds,
    periodSeconds: issue.periodSeconds,
    renewable: issue.renewable,
    numUses: issue.numUses,
    boundCidrs: issue.boundCidrs,
  };
  const minted = kernel.tokens.mint(spec, set);
  return { auth: await authOf(kernel.identity, minted, minted.record.ttlSeconds), warnings: [] };
}

/** The second factors of a login: sent with the login, or already proven for an entity. */
export type Factors = { readonly sentPasscodes: readonly string[] } | { readonly provenFor: string };

const waitingWarning =
  'A login request was issued that is subject to MFA validation. Please make sure to validate the login by sending another request to mfa/validate endpoint.';

/**
 * Finds or creates the entity of a login and mints its token; if second factors are still missing, the login waits for
 * them. Throws `denied` for a disabled entity and for wrong factors.
 */
export async function issueLogin(
  kernel: Kernel,
  at: Birthplace,
  login: Login,
  set: WriteSet,
  factors: Factors,
): Promise<Issued> {
  const { namespace, mount } = at;
  const policies = loginPolicies(login);
  const type = loginType(login, mount);
  if (type === 'batch' && ((login.periodSeconds ?? 0) > 0 || (login.numUses ?? 0) > 0)) {
    throw new Refusal('invalid', 'batch tokens cannot have a period or a number of uses');
  }
  const { entityId, aliasId } = login.alias
    ? await kernel.identity.login(namespace.uuid, mount, login.alias, login.groupAliases ?? [])
    : { entityId: undefined, aliasId: undefined };
  if ('provenFor' in factors) {
    // The alias may have moved to another entity while the login waited.
    if (entityId !== factors.provenFor) throw new Refusal('denied', 'permission denied');
  } else if (entityId !== undefined) {
    const requirement = await demandFactors(kernel, at, login, entityId, factors.sentPasscodes);
    if (requirement) return { auth: waiting(requirement, entityId), warnings: [waitingWarning] };
  }
  const nowMs = kernel.clock.now();
  const life = lifetime({
    nowMs,
    issuedAtMs: nowMs,
    ttlSeconds: login.ttlSeconds,
    maxTtlSeconds: login.maxTtlSeconds,
    explicitMaxTtlSeconds: login.explicitMaxTtlSeconds,
    periodSeconds: login.periodSeconds,
    mount: mount.view,
  });
  const minted = kernel.tokens.mint(
    {
      type,
      namespaceId: namespace.uuid,
      namespaceShortId: shortIdOf(namespace),
      path: at.path,
      displayName: login.displayName,
      policies,
      meta: Object.keys(login.metadata).length > 0 ? login.metadata : null,
      entityId,
      aliasId,
      mountId: mount.uuid,
      ttlSeconds: life.ttlSeconds,
      maxTtlSeconds: login.maxTtlSeconds,
      explicitMaxTtlSeconds: login.explicitMaxTtlSeconds,
      periodSeconds: login.periodSeconds,
      renewable: type === 'service' && (login.renewable ?? true),
      numUses: login.numUses,
      boundCidrs: login.bindsAddress ? [at.address] : login.boundCidrs,
      internal: login.internal,
    },
    set,
  );
  return { auth: await authOf(kernel.identity, minted, life.ttlSeconds), warnings: life.warnings };
}

async function demandFactors(
  kernel: Kernel,
  { namespace, mount, path, address }: Birthplace,
  login: Login,
  entityId: string,
  sentPasscodes: readonly string[],
): Promise<MfaRequirement | undefined> {
  const identity = await kernel.identity.find(entityId);
  return kernel.mfa.logins.demand(
    {
      namespaceId: namespace.uuid,
      accessor: mount.accessor,
      mountType: mount.type,
      mountId: mount.uuid,
      entityId,
      groupIds: new Set(identity?.subject.groups.map(({ id }) => id)),
      path,
      address,
      login,
      withPasskey: login.withPasskey === true,
    },
    sentPasscodes,
  );
}

function waiting(requirement: MfaRequirement, entityId: string): Auth {
  return {
    clientToken: '',
    accessor: '',
    policies: null,
    tokenPolicies: [],
    identityPolicies: [],
    metadata: null,
    leaseDurationSeconds: 0,
    renewable: false,
    entityId,
    tokenType: 'default',
    orphan: true,
    mfaRequirement: requirementData(requirement),
    numUses: 0,
  };
}

/** The second factors that a login must prove, in the form for clients. */
function requirementData({ requestId, constraints }: MfaRequirement): Record<string, unknown> {
  const constraintData = constraints.map(({ enforcement, methods }) => [
    enforcement,
    {
      any: methods.map(({ id, name, selfEnrolment }) => ({
        type: 'totp',
        id,
        uses_passcode: true,
        name,
        ...(selfEnrolment && { self_enrollment_enabled: true }),
      })),
    },
  ]);
  return { mfa_request_id: requestId, mfa_constraints: Object.fromEntries(constraintData) };
}

function loginPolicies(login: Login): string[] {
  const names = new Set(login.policies.map((name) => name.trim().toLowerCase()).filter((name) => name !== ''));
  if (names.has('root')) throw new Refusal('invalid', 'auth methods cannot create root tokens');
  if (login.noDefaultPolicy) names.delete('default');
  else names.add('default');
  return [...names].sort();
}

// The mount may force a kind of token. If the mount only prefers a kind, the role's kind is used.
function loginType(login: Login, mount: LiveMount): 'service' | 'batch' {
  const { tokenType } = mount.config;
  if (tokenType === 'service' || tokenType === 'batch') return tokenType;
  if (login.type === 'service' || login.type === 'batch') return login.type;
  return tokenType === 'default-batch' ? 'batch' : 'service';
}

function shortIdOf(namespace: Namespace): string {
  return namespace.parentUuid === undefined ? '' : namespace.id;
}
