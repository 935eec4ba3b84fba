import { Refusal } from '@keystead/refusal';
import { Throttle } from '../../sdk/outside';
import { OutsideCalls } from '../../sdk/outside-call';
import type { AwsClient } from './client';
import { endpointOf, type SignedRequest } from './signed-request';

/** The signer of a request, from the token service. */
export interface CallerIdentity {
  readonly arn: string;
  readonly userId: string;
  readonly account: string;
}

const who = 'the token service of AWS';
/** Headers that are set by our connection, not copied from the request. */
const replacedHeaders = new Set(['host', 'content-length', 'content-type']);

/** Forwards signed requests to the token service. */
export class TokenService {
  private readonly calls: OutsideCalls;
  private readonly throttle = new Throttle();

  constructor(clock: { now(): number }) {
    this.calls = new OutsideCalls(clock);
  }

  /** The signer of a request. Throws `denied` if the service rejects the signature, `upstream` if it is unavailable. */
  async ask(request: SignedRequest, config: AwsClient): Promise<CallerIdentity> {
    const endpoint = endpointOf(request.host, config);
    await this.throttle.take();
    const headers = Object.fromEntries([...request.headers].filter(([name]) => !replacedHeaders.has(name)));
    const type = request.headers.get('content-type') ?? 'application/x-www-form-urlencoded';
    const { status, json, bytes } = await this.calls.call(who, `${endpoint}/`, {
      method: 'POST',
      headers,
      bytes: { type, content: Buffer.from(request.body) },
    });
    if (status === 429 || status >= 500) throw new Refusal('upstream', `${who} answered ${status}`);
    if (status !== 200) throw new Refusal('denied', `${who} did not accept the signature: it answered ${status}`);
    const found = json === undefined ? fromXml(bytes.toString('utf8')) : fromJson(json);
    if (!found) throw new Refusal('upstream', `${who} answered something that is not an identity`);
    return found;
  }
}

function fromJson(json: unknown): CallerIdentity | undefined {
  const answer = Object(Object(json).GetCallerIdentityResponse).GetCallerIdentityResult as Record<string, unknown>;
  const { Arn, UserId, Account } = Object(answer) as Record<string, unknown>;
  return identity(Arn, UserId, Account);
}

/** Parses the XML response. Names of principals contain no characters that XML escapes. */
function fromXml(xml: string): CallerIdentity | undefined {
  const inner =
    /^\s*(?:<\?xml[^<>]*\?>\s*)?<GetCallerIdentityResponse(?: xmlns="[^"<>]*")?>\s*<GetCallerIdentityResult>((?:\s*<(Arn|UserId|Account)>[^<>&]*<\/\2>)+)\s*<\/GetCallerIdentityResult>/.exec(
      xml,
    )?.[1] ?? '';
  const texts = new Map([...inner.matchAll(/<(\w+)>([^<>&]*)<\//g)].map(([, name, text]) => [name, text]));
  return identity(texts.get('Arn'), texts.get('UserId'), texts.get('Account'));
}

function identity(arn: unknown, userId: unknown, account: unknown): CallerIdentity | undefined {
  if (typeof arn !== 'string' || typeof userId !== 'string' || typeof account !== 'string') return undefined;
  return arn && userId && account ? { arn, userId, account } : undefined;
}
