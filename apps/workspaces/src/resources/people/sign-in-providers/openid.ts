import {
  type Claims,
  claimAt,
  discoveryOf,
  foreignIssuer,
  jwtAlgorithms,
  KeySets,
  type KeySource,
  OpenidProvider,
  type SignatureCheck,
} from '@keystead/auth';
import { OutsideCalls } from '@keystead/outside';
import { Refusal } from '@keystead/refusal';
import type { SignInProvider } from './provider';

/** A provider, with our client secret for it. */
export interface ProviderClient extends SignInProvider {
  readonly clientSecret: string;
}

/**
 * Calls the providers at which people sign in. Keys and addresses are cached for an hour, and while the provider is
 * down for a day, as long as its configuration does not change.
 */
export class Openid extends OpenidProvider<ProviderClient> {
  private readonly sets: KeySets;

  constructor(clock: { now(): number }) {
    const calls = new OutsideCalls(clock);
    const call = (url: string, request: Parameters<OutsideCalls['call']>[2]) =>
      calls.call('the provider', url, request);
    const sets = new KeySets('the provider', (url, ca) => call(url, { ca }), clock);
    super({
      call,
      document: async (provider) => {
        await issuerOf(sets, provider);
        return sets.document(sourceOf(provider));
      },
      clientOf: ({ issuer, caCertificate, clientId, clientSecret }) => ({
        issuer,
        ca: caCertificate ?? undefined,
        clientId,
        clientSecret,
      }),
    });
    this.sets = sets;
  }

  /** The issuer as its tokens name it. Throws `upstream` if another issuer answers there. */
  issuer(provider: ProviderClient): Promise<string> {
    return issuerOf(this.sets, provider);
  }

  /** Whether the provider puts its name into its responses. If so, a response without a name is from someone else. */
  async namesItself(provider: ProviderClient): Promise<boolean> {
    return (await this.sets.document(sourceOf(provider))).authorization_response_iss_parameter_supported === true;
  }

  /** The accepted signature algorithms. All use a public key, so that no public key can be used as a secret. */
  signatures(provider: ProviderClient): SignatureCheck {
    return { algorithms: jwtAlgorithms, keys: (header) => this.sets.keys(sourceOf(provider), header) };
  }
}

const sourceOf = ({ issuer, caCertificate, generation }: ProviderClient): KeySource => ({
  ...discoveryOf(issuer, caCertificate ?? undefined),
  generation,
});

async function issuerOf(sets: KeySets, provider: ProviderClient): Promise<string> {
  const issuer = await sets.issuer(sourceOf(provider));
  const refusal = foreignIssuer(provider.issuer, issuer);
  if (refusal !== undefined || issuer === undefined) throw new Refusal('upstream', refusal ?? 'no issuer');
  return issuer;
}

/** The relevant data about a person from a provider. */
export interface Person {
  readonly subject: string;
  readonly username: string;
  /** Undefined unless the provider has verified it. */
  readonly email: string | undefined;
  /** Undefined if groups are not requested from the provider. */
  readonly groups: readonly string[] | undefined;
  readonly session: string | undefined;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Reads who signed in from verified claims. Throws `denied` for an invalid list of groups. */
export function personOf(claims: Claims, provider: SignInProvider): Person {
  const subject = String(claims.sub);
  const email = textOf(claimAt(claims, provider.emailClaim));
  const isChecked = claims.email_verified === true && provider.emailClaim === 'email';
  const { groupsClaim } = provider;
  return {
    subject,
    username: textOf(claimAt(claims, provider.usernameClaim)) ?? email ?? subject,
    email: isChecked ? email : undefined,
    groups: groupsClaim === null ? undefined : groupsOf(claimAt(claims, groupsClaim)),
    session: textOf(claims.sid),
  };
}

// A user without groups may have no claim at all. In this case permissions granted through groups end.
function groupsOf(value: unknown): string[] {
  const list = value === undefined ? [] : Array.isArray(value) ? value : [value];
  if (!list.every((group) => typeof group === 'string')) {
    throw new Refusal(
      'denied',
      'The provider sent groups that are not strings. Contact the administrator of the provider.',
    );
  }
  return [...new Set(list as string[])].filter((group) => group !== '');
}
