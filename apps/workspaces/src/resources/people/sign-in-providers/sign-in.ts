import { ProviderRefusal, verifyIdToken, withUserInfo } from '@keystead/auth';
import type { CameBack, ComingBack, From, Leave, NewSession, ProviderSignIn } from '@keystead/console-host';
import type { Keyring } from '@keystead/keyring';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { AccessTrail } from '../../../kernel/audit/access-trail';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import type { ConsoleSessions } from '../sessions/console';
import { signInPage } from '../sessions/service';
import { accountOf } from './accounts';
import { followGroups, followSiteAdmin, type UserLimit } from './groups';
import { endFromProvider } from './logout';
import { Openid, type Person, type ProviderClient, personOf } from './openid';
import { type ComeBack, clientOf, comeBack, leave } from './pending';
import type { SignInProvider } from './provider';
import { isProvisioned } from './provisioned';
import { samlId } from './saml/settings';
import { SamlSignIn } from './saml/sign-in';
import * as providers from './service';

/** The dependencies of sign-in by providers. */
export interface SignInParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly trail: AccessTrail;
  readonly publicUrl: string;
  readonly sessions: ConsoleSessions;
  readonly userLimit: UserLimit;
  now(): number;
}

const place = '/ui/sign-in/callback';
/** A page of our console, with only characters that all browsers parse alike. */
const ownPage = /^\/ui\/(?![/\\])[\w\-.~!$&'()*+,;=:@%/?#]{0,2000}$/;

const again = 'Start again from the sign-in page.';

/** Sign-in of users through a provider. Decision 0120. */
export class SignIn implements ProviderSignIn {
  private readonly openid: Openid;
  private readonly saml: SamlSignIn;

  constructor(private readonly parts: SignInParts) {
    this.openid = new Openid(parts);
    this.saml = new SamlSignIn(parts);
  }

  /** The providers that the sign-in page offers. */
  async offered(): Promise<{ method: string; id: string; name: string }[]> {
    const rows = await this.parts.db.prisma.signInProvider.findMany({
      where: { enabled: true, kind: { in: ['oidc', samlId] } },
      select: { kind: true, id: true, name: true },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: 100,
    });
    return rows.map(({ kind, id, name }) => ({ method: kind, id, name }));
  }

  /** The address for the browser. Throws `missing`, or `upstream` while the provider is down. */
  async leave(
    { provider: id, browser, returnTo = '/ui/', session }: Leave,
    { address }: Pick<From, 'address'>,
  ): Promise<string> {
    const { db, keyring, publicUrl, sessions } = this.parts;
    if (session !== undefined && (await sessions.find(session))?.['sign-in-provider']?.id !== id) {
      throw new Refusal('denied', 'This session was not started through this provider.');
    }
    const signInRequest = {
      browser,
      address,
      returnTo: ownPage.test(returnTo) ? returnTo : '/ui/',
      sessionHash: session === undefined ? undefined : sessions.hashOf(session),
    };
    if (id === samlId) return this.saml.leave(signInRequest);
    const provider = await this.client(id);
    const url = await this.openid.requireEndpoint(provider, 'authorization_endpoint');
    const { state, nonce, challenge } = await leave(db, keyring, provider, signInRequest, this.parts.now());
    const parameters = {
      response_type: 'code',
      client_id: provider.clientId,
      redirect_uri: publicUrl + place,
      scope: provider.scopes.join(' '),
      state,
      nonce,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...(session === undefined ? {} : { max_age: '0', prompt: 'login' }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** Completes what `leave` started. Throws messages that the user may read. */
  async comeBack({ sent, browser }: ComingBack, { requestId }: From): Promise<CameBack> {
    const { db, keyring } = this.parts;
    const named = { state: sent.get('state') ?? '', handle: sent.get('handle') ?? '', browser };
    const pendingSignIn = await comeBack(db, keyring, named, this.parts.now());
    if (!pendingSignIn) {
      throw new Refusal(
        'denied',
        `This sign-in was not started in this browser, has expired, or was already completed. ${again}`,
      );
    }
    return this.end(pendingSignIn, sent, requestId).catch(async (failure) => {
      const target = { type: 'sign-in-providers', id: pendingSignIn.providerId };
      const after = { why: isRefusal(failure) ? failure.message : 'a fault' };
      const change = { organizationId: null, action: 'account.refuse-sign-in', target, after };
      await this.parts.trail.refused({ ...signInPage, requestId }, change, pendingSignIn.providerId);
      throw failure;
    });
  }

  private async end(pendingSignIn: ComeBack, sent: URLSearchParams, requestId: string): Promise<CameBack> {
    const { returnTo } = pendingSignIn;
    const isSaml = pendingSignIn.providerId === samlId;
    const provider = isSaml ? await this.saml.provider() : await this.client(pendingSignIn.providerId);
    if (pendingSignIn.client !== clientOf(provider))
      throw new Refusal('denied', `The provider's settings have changed in the meantime. ${again}`);
    const person = isSaml
      ? this.saml.person(pendingSignIn)
      : await this.vouchedFor(provider as ProviderClient, pendingSignIn, sent);
    if (pendingSignIn.sessionHash !== null) {
      const who = { providerId: provider.id, subject: person.subject };
      await this.parts.sessions.provedAgain(pendingSignIn.sessionHash, who, person.session);
      return { returnTo };
    }
    return { returnTo, session: await this.enter(provider, person, requestId) };
  }

  /** Ends sessions at the provider's request. Throws `malformed`. */
  async endSessions(providerId: string, logoutToken: string): Promise<void> {
    const provider = await this.client(providerId);
    await endFromProvider(this.parts.db, this.openid, provider, logoutToken, this.parts.now());
  }

  private async client(id: string): Promise<ProviderClient> {
    const { db, keyring } = this.parts;
    const provider = await providers.find(db, id);
    const clientSecret = provider?.enabled ? await providers.secretOf(db, keyring, id) : undefined;
    if (!provider || clientSecret === undefined) throw new Refusal('missing', 'This provider does not exist.');
    return { ...provider, clientSecret };
  }

  private async vouchedFor(
    provider: ProviderClient,
    pendingSignIn: ComeBack,
    sent: URLSearchParams,
  ): Promise<ProvenPerson> {
    const { openid } = this;
    const issuer = await openid.issuer(provider);
    const iss = sent.get('iss');
    // Without this check, a code of another provider would be sent to this provider.
    if (iss === null ? await openid.namesItself(provider) : iss !== issuer) {
      throw new Refusal('denied', `The response is from another provider. ${again}`);
    }
    const error = sent.get('error');
    if (error !== null) {
      throw new Refusal('denied', `The provider refused (${/^\w{1,60}$/.test(error) ? error : 'error'}). ${again}`);
    }
    try {
      const code = sent.get('code') ?? '';
      const tokens = await openid.exchange(provider, code, pendingSignIn.verifier, this.parts.publicUrl + place);
      if (tokens.idToken === undefined) throw new Refusal('invalid', 'it sent no ID token');
      const claims = await verifyIdToken(tokens.idToken, tokens.accessToken, {
        ...openid.signatures(provider),
        issuer,
        clientId: provider.clientId,
        nonce: pendingSignIn.nonce,
        // A repeated proof must be newer than the request for it.
        maxAgeSeconds:
          pendingSignIn.sessionHash === null ? 0 : Math.max(1, (this.parts.now() - pendingSignIn.beganAtMs) / 1000),
        nowMs: this.parts.now(),
      });
      const person = personOf(withUserInfo(claims, await openid.userInfo(provider, tokens.accessToken)), provider);
      return { ...person, provenAtMs: provenAt(claims, this.parts.now()) };
    } catch (failure) {
      if (!isRefusal(failure) || failure.kind === 'upstream') throw failure;
      if (failure instanceof ProviderRefusal) {
        throw new Refusal('denied', `The provider rejected its own code (${failure.code}). ${again}`);
      }
      throw new Refusal('denied', `The provider’s answer is not valid: ${failure.message}. ${again}`, [], {
        cause: failure,
      });
    }
  }

  private async enter(provider: SignInProvider, person: ProvenPerson, requestId: string): Promise<NewSession> {
    const { db, sessions, userLimit } = this.parts;
    const inTurn = db.inTurn(`sign-in ${provider.id} ${person.subject}`);
    const account = await inTurn.transaction(async (tx) => {
      const found = await accountOf(tx, provider, person, requestId);
      const actor: Actor = { type: 'users', id: found.userId, name: found.username, requestId };
      const decides = person.groups !== undefined && !(await isProvisioned(tx, provider.id, found.userId));
      if (decides && person.fillsTeams === false) await followSiteAdmin(tx, actor, provider, person.groups!);
      else if (decides) await followGroups(tx, actor, provider, person.groups!, userLimit);
      if (provider.kind === samlId) await this.saml.prolongTokens(tx, found.userId);
      return found;
    });
    const session = await sessions.createFor(
      account,
      { providerSession: person.session, hours: provider.sessionHours, provenAtMs: person.provenAtMs },
      requestId,
    );
    return { ...session, view: session.view as object as NewSession['view'] };
  }
}

/** A person, and the time at which they last authenticated at their provider. */
interface ProvenPerson extends Person {
  readonly provenAtMs: number;
  /** If false, groups determine only site administration. */
  readonly fillsTeams?: boolean;
}

/**
 * When a user authenticated. A provider that keeps users signed in reports this time. Without this claim, they have
 * just authenticated.
 */
function provenAt({ auth_time }: Readonly<Record<string, unknown>>, now: number): number {
  return typeof auth_time === 'number' ? Math.min(auth_time * 1000, now) : now;
}
