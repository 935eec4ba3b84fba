import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../../sdk/call';
import { single } from '../../../sdk/collection';
import { string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';

/** Scheme, host and port at which clients reach this service; undefined if not known. */
export type PublicUrl = string | undefined;

const config = single('oidc/config', z.object({ issuer: z.string() }));

const explicit =
  'If "issuer" is set explicitly, all tokens must be validated against that address. Setting issuer to "" goes back to SECRETS_PUBLIC_URL.';
const unknown =
  'Both "issuer" and SECRETS_PUBLIC_URL are empty: no token can be issued, because clients could not find the keys to verify it.';

/**
 * The issuer of a namespace's tokens. Each namespace has an issuer below its own path, so it cannot impersonate
 * another. Undefined if neither the configuration nor the installation sets the address.
 */
export async function findIssuer(storage: Storage, namespacePath: string, publicUrl: PublicUrl) {
  const { issuer = '' } = (await config.find(storage)) ?? {};
  return belowAddress(issuer || publicUrl, namespacePath, 'identity/oidc');
}

/** An issuer below a known address. */
export function belowAddress(address: string | undefined, namespacePath: string, at: string): string | undefined {
  return address ? `${address}/v1/${namespacePath}${at}` : undefined;
}

/** The issuer. If it is not known, throws `invalid` with a message that says what to configure. */
export function requireKnown(issuer: string | undefined): string {
  if (issuer) return issuer;
  throw new Refusal('invalid', 'no issuer: set "issuer", or start the service with SECRETS_PUBLIC_URL');
}

/** Throws `invalid` unless the issuer consists of scheme, host and port. Adds the warning for an explicit issuer. */
export function checkIssuer(issuer: string, { warn }: Pick<Call, 'warn'>): void {
  if (issuer === '') return;
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || (issuer !== url.origin && !isDefaultPort(issuer, url))) {
    throw new Refusal(
      'invalid',
      'invalid issuer, which must include only a scheme, host, and optional port (e.g. https://example.com:8200)',
    );
  }
  warn(explicit);
}

/** The default port of a scheme. */
function isDefaultPort(issuer: string, url: URL): boolean {
  return issuer === `${url.origin}:${url.protocol === 'https:' ? 443 : 80}`;
}

/** `oidc/config`: the issuer address of this namespace's tokens. */
export const configPath = (publicUrl: PublicUrl) =>
  path('oidc/config', {
    summary: 'The issuer of the identity tokens of this namespace.',
    read: {
      summary: 'Read the configuration.',
      output: z.object({ issuer: z.string() }),
      async run({ storage, warn }) {
        const { issuer } = (await config.find(storage)) ?? { issuer: '' };
        if (!issuer && !publicUrl) warn(unknown);
        return data({ issuer });
      },
    },
    write: {
      summary: 'Set the issuer.',
      input: z.object({
        issuer: string()
          .optional()
          .describe('Scheme, host and port of the iss claim. Empty: those of the service’s public URL.'),
      }),
      run({ input: { issuer }, storage, warn }) {
        if (issuer === undefined) return empty;
        checkIssuer(issuer, { warn });
        config.put(storage, { issuer });
        return empty;
      },
    },
  });
