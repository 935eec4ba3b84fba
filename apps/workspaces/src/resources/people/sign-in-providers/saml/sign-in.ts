import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../../kernel/database/database';
import { type ComeBack, leave } from '../pending';
import type { SignInProvider } from '../provider';
import type { SamlSettings } from './attributes';
import type { SamlPerson } from './person';
import { readAnswer } from './receive';
import { requestUrl } from './request';
import { find, samlId } from './settings';

/** The dependencies of sign-in by SAML. */
export interface SamlParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly publicUrl: string;
  now(): number;
}

/**
 * The browser’s part of sign-in with SAML: the browser goes to the provider, and fetches the provider's response.
 * Decision 0125.
 */
export class SamlSignIn {
  constructor(private readonly parts: SamlParts) {}

  /** The address for the browser. Throws `missing`. */
  async leave(signInRequest: {
    browser: string;
    address: string;
    returnTo: string;
    sessionHash: Uint8Array<ArrayBuffer> | undefined;
  }): Promise<string> {
    const { db, keyring, publicUrl, now } = this.parts;
    const settings = await this.settings();
    const startedSignIn = await leave(db, keyring, { id: samlId, ...clientOf(settings) }, signInRequest, now());
    const { state, nonce } = startedSignIn;
    return requestUrl(db, keyring, settings, {
      publicUrl,
      state,
      nonce,
      again: signInRequest.sessionHash !== undefined,
    });
  }

  /** The provider in the form that accounts and teams need. Throws `missing` if SAML was switched off. */
  async provider(): Promise<SignInProvider> {
    const settings = await this.settings();
    const row = await this.parts.db.prisma.signInProvider.findUniqueOrThrow({
      where: { id: samlId },
      omit: { clientSecret: true },
    });
    return { ...row, ...clientOf(settings), organizations: null };
  }

  /** The user that the provider identified. Throws `denied` if the provider has not responded. */
  person({ answer }: ComeBack): SamlPerson {
    if (answer === undefined) {
      throw new Refusal('denied', 'The provider has not answered. Start again from the sign-in page.');
    }
    return readAnswer(answer);
  }

  /** Extends the user tokens of a person who has just signed in to the lifetime in the settings. */
  async prolongTokens(tx: Database, userId: string): Promise<void> {
    const { ssoApiTokenSessionTimeout } = await find(tx);
    const ssoUntil = new Date(this.parts.now() + ssoApiTokenSessionTimeout * 1000);
    await tx.prisma.user.update({ where: { id: userId }, data: { ssoUntil } });
  }

  private async settings(): Promise<SamlSettings> {
    const settings = await find(this.parts.db);
    if (!settings.enabled) throw new Refusal('missing', 'This provider does not exist.');
    return settings;
  }
}

/** The settings at the beginning of a sign-in. If they change before its end, the sign-in is no longer valid. */
const clientOf = ({ ssoEndpointUrl, idpCert }: SamlSettings) => ({
  issuer: ssoEndpointUrl ?? '',
  clientId: idpCert ?? '',
});
