import { createHash, createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';

interface Signer {
  readonly secret: string;
  readonly arn: string;
  readonly userId: string;
}
interface Known {
  readonly id: string;
  readonly path: string;
}

const account = '123456789012';
const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/**
 * The parts of AWS's token service and identity API that logins need. It checks every signature (version 4) against the received request, so it refuses a changed request like the real one.
 */
export class StsStandIn {
  /** By access key. */
  readonly signers = new Map<string, Signer>();
  readonly users = new Map<string, Known>();
  readonly roles = new Map<string, Known>();
  /** The account whose key looks up users and roles. */
  account = account;
  instead: [number, string] | undefined;
  asJson = false;
  readonly calls: { path: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
  private readonly server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      this.calls.push({ path: request.url ?? '', headers: request.headers, body });
      const [status, text] = this.instead ?? this.answer(request.headers, body);
      response.writeHead(status, { 'content-type': 'text/xml' }).end(text);
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get address(): string {
    return `http://${this.host}`;
  }

  private answer(headers: http.IncomingHttpHeaders, body: string): [number, string] {
    const form = new URLSearchParams(body);
    const signer = this.signerOf(headers, body);
    if (!signer) return [403, failure('SignatureDoesNotMatch')];
    switch (form.get('Action')) {
      case 'GetCallerIdentity':
        return [200, this.asJson ? json(signer) : xml(signer)];
      case 'GetUser':
        return this.found('User', this.users, form.get('UserName') ?? '');
      case 'GetRole':
        return this.found('Role', this.roles, form.get('RoleName') ?? '');
      default:
        return [400, failure('InvalidAction')];
    }
  }

  private found(kind: 'User' | 'Role', all: ReadonlyMap<string, Known>, name: string): [number, string] {
    const one = all.get(name);
    if (!one) return [404, failure('NoSuchEntity')];
    const arn = `arn:aws:iam::${this.account}:${kind.toLowerCase()}${one.path}${name}`;
    const fields = `<Path>${one.path}</Path><${kind}Name>${name}</${kind}Name><${kind}Id>${one.id}</${kind}Id><Arn>${arn}</Arn><CreateDate>2020-01-01T00:00:00Z</CreateDate>`;
    const answer = `<Get${kind}Result><${kind}>${fields}</${kind}></Get${kind}Result>`;
    return [
      200,
      `<Get${kind}Response xmlns="https://iam.amazonaws.com/doc/2010-05-08/">${answer}</Get${kind}Response>`,
    ];
  }

  private signerOf(headers: http.IncomingHttpHeaders, body: string): Signer | undefined {
    const [, key = '', scope = '', names = '', signature] =
      /Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(headers.authorization ?? '') ?? [];
    const signer = this.signers.get(key);
    if (!signer) return undefined;
    const lines = names.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`);
    const canonical = ['POST', '/', '', lines.join(''), names, hash(body)].join('\n');
    const [date = '', region = '', service = ''] = scope.split('/');
    const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash(canonical)].join('\n');
    const keyed = [region, service, 'aws4_request'].reduce<Buffer>(mac, mac(`AWS4${signer.secret}`, date));
    return mac(keyed, text).toString('hex') === signature ? signer : undefined;
  }
}

function xml({ arn, userId }: Signer): string {
  const fields = `\n    <Arn>${arn}</Arn>\n    <UserId>${userId}</UserId>\n    <Account>${account}</Account>\n  `;
  const result = `<GetCallerIdentityResult>${fields}</GetCallerIdentityResult>`;
  const about = '<ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata>';
  return `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n  ${result}\n  ${about}\n</GetCallerIdentityResponse>`;
}

function json({ arn, userId }: Signer): string {
  const GetCallerIdentityResult = { Account: account, Arn: arn, UserId: userId };
  return JSON.stringify({ GetCallerIdentityResponse: { GetCallerIdentityResult, ResponseMetadata: {} } });
}

const failure = (code: string) =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`;

/** A signed request, not sent. */
export interface SignedRequest {
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** A request signed by the provider's library. */
export async function signedRequest(
  key: string,
  address: string,
  further: Record<string, string> = {},
): Promise<SignedRequest> {
  let signed: SignedRequest | undefined;
  const sts = new STSClient({
    region: 'us-east-1',
    endpoint: address,
    credentials: { accessKeyId: key, secretAccessKey: `secret of ${key}` },
    maxAttempts: 1,
  });
  sts.middlewareStack.add(
    (next) => async (args) => {
      Object.assign((args.request as { headers: object }).headers, further);
      return next(args);
    },
    { step: 'build' },
  );
  sts.middlewareStack.add(
    () => async (args) => {
      const { headers, body } = args.request as { headers: Record<string, string>; body: string };
      signed = { url: `${address}/`, body: String(body), headers };
      throw new Error('kept');
    },
    { step: 'deserialize', priority: 'high' },
  );
  await sts.send(new GetCallerIdentityCommand({})).catch(() => {});
  sts.destroy();
  return signed!;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** The fields of a login with a signed request. */
export const loginFields = ({ url, body, headers }: SignedRequest) => ({
  iam_http_request_method: 'POST',
  iam_request_url: base64(url),
  iam_request_body: base64(body),
  iam_request_headers: base64(JSON.stringify(headers)),
});
