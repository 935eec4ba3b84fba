import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { CloudStandIn } from './cloudtwo';

interface Trust {
  /** The issuer registered with the provider. */
  readonly issuer: string;
  readonly audience: string;
  readonly subject: RegExp;
  readonly roleArn: string;
}

class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Gives a provider stand-in the exchange of identity tokens for a role's credentials. Like the real one, it fetches the issuer's discovery document and keys (from `at`, the real address of the test's issuer) and checks the whole token.
 */
export function trustIssuer(cloud: CloudStandIn, trust: Trust, at: () => string) {
  const seen: Record<string, unknown>[] = [];
  cloud.interfere = (action, response, form) => {
    if (action !== 'AssumeRoleWithWebIdentity') return false;
    void exchange(form).then(
      (xml) => answer(response, 200, xml),
      (error: Refused) =>
        answer(
          response,
          error.status ?? 500,
          `<ErrorResponse><Error><Type>Sender</Type><Code>${error.code}</Code>` +
            `<Message>${error.message}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>`,
        ),
    );
    return true;
  };

  const exchange = async (form: Readonly<Record<string, string>>): Promise<string> => {
    const claims = await verified(form.WebIdentityToken ?? '');
    seen.push(claims);
    if (form.RoleArn !== trust.roleArn || !trust.subject.test(String(claims.sub))) {
      throw new Refused(403, 'AccessDenied', 'Not authorized to perform sts:AssumeRoleWithWebIdentity');
    }
    const key = cloud.addKey('root-svc');
    const expires = new Date(Date.now() + Number(form.DurationSeconds) * 1000).toISOString();
    return (
      `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${key.id}</AccessKeyId>` +
      `<SecretAccessKey>${key.secret}</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${expires}</Expiration>` +
      `</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
    );
  };

  const verified = async (token: string): Promise<Record<string, unknown>> => {
    const [head = '', body = '', signature = ''] = token.split('.');
    const { kid, alg } = read(head);
    const claims = read(body);
    if (claims.iss !== trust.issuer) throw new Refused(400, 'InvalidIdentityToken', 'No OpenIDConnect provider found');
    const wellKnown = `${at()}${new URL(trust.issuer).pathname}/.well-known`;
    const document = (await (await fetch(`${wellKnown}/openid-configuration`)).json()) as Record<string, unknown>;
    if (document.issuer !== trust.issuer || document.jwks_uri !== `${trust.issuer}/.well-known/keys`) {
      throw new Refused(400, 'InvalidIdentityToken', 'The issuer does not match');
    }
    const { keys } = (await (await fetch(`${wellKnown}/keys`)).json()) as { keys: (JsonWebKey & { kid: string })[] };
    const jwk = keys.find((key) => key.kid === kid);
    const genuine =
      jwk &&
      alg === 'RS256' &&
      verify(
        'sha256',
        Buffer.from(`${head}.${body}`),
        createPublicKey({ key: jwk, format: 'jwk' }),
        Buffer.from(signature, 'base64url'),
      );
    if (!genuine) throw new Refused(400, 'InvalidIdentityToken', 'Could not be verified with the keys of the issuer');
    if (![claims.aud].flat().includes(trust.audience)) {
      throw new Refused(400, 'InvalidIdentityToken', 'Incorrect token audience');
    }
    return claims;
  };
  /** Claims of the tokens in all attempts to exchange one. */
  return seen;
}

function read(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}

function answer(response: ServerResponse, status: number, xml: string): void {
  response.writeHead(status, { 'content-type': 'text/xml' });
  response.end(xml);
}
