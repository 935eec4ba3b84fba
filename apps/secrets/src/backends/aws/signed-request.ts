import { Failure, isObject, toText } from '../../sdk/coerce';
import { field } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';
import type { AwsClient } from './client';

/** A signed request to the token service. */
export interface SignedRequest {
  readonly host: string;
  readonly body: string;
  /** Signed headers and the signature, by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The login fields that contain the signed request. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly headers: SentHeaders;
}

/** Each header of a request by its name in lower case. */
export type SentHeaders = Readonly<Record<string, string>>;

const longest = 16 * 1024;
const serverIdHeader = 'x-vault-aws-iam-server-id';
/** Headers that the provider's libraries sign. Other headers could change the service's answer. */
const signable = new Set([
  'host',
  'content-type',
  'content-length',
  'user-agent',
  'amz-sdk-invocation-id',
  'amz-sdk-request',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
  'x-amz-user-agent',
  serverIdHeader,
]);

/**
 * Reads the signed request of a login: only a POST of `GetCallerIdentity` to the token service. Unsigned headers are
 * omitted. Throws `invalid` with the reason; the token service verifies the signature.
 */
export function readRequest(sent: SentRequest, config: AwsClient): SignedRequest {
  if (sent.method.toUpperCase() !== 'POST')
    refuse("invalid iam_http_request_method; currently only 'POST' is supported");
  const url = urlOf(sent.url);
  const { body } = sent;
  checkBody(body);
  const headers = signedOf(new Map(Object.entries(sent.headers)), config);
  const host = headers.get('host') ?? url.host;
  if (host.toLowerCase() !== url.host) refuse('the signed host is not that of iam_request_url');
  checkServerId(headers, config);
  const type = headers.get('content-type');
  if (type !== undefined && !/^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i.test(type)) {
    refuse('content-type of iam_request_headers must be application/x-www-form-urlencoded');
  }
  return { host: url.host, body, headers };
}

/** The address to which a signed request is sent. Throws `invalid` if the configuration does not allow its host. */
export function endpointOf(host: string, { sts_endpoint, sts_region, use_sts_region_from_client }: AwsClient): string {
  if (sts_endpoint !== '') {
    const { host: stsHost, origin } = new URL(sts_endpoint);
    if (host === stsHost) return origin;
    refuse(`iam_request_url must point to ${stsHost}`);
  }
  const regional = /^sts\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?$/.exec(host);
  if (use_sts_region_from_client ? regional || host === global : host === globalOr(sts_region, regional, host)) {
    return `https://${host}`;
  }
  refuse(
    use_sts_region_from_client
      ? 'iam_request_url must point to AWS STS'
      : `iam_request_url must point to ${sts_region === '' ? global : `the token service of ${sts_region}`}, according to sts_region and use_sts_region_from_client in config/client`,
  );
}

const global = 'sts.amazonaws.com';

function globalOr(region: string, regional: RegExpExecArray | null, host: string): string | undefined {
  if (region === '') return global;
  return regional?.[1] === region ? host : undefined;
}

/** A field of text that clients send in base64. */
export const base64Text = (name: string) =>
  field({ type: 'string' }, (value) => {
    const sent = toText(value);
    return sent instanceof Failure ? sent : textOf(name, sent);
  });

function textOf(name: string, base64: string): string | Failure {
  const bytes = Buffer.from(base64, 'base64');
  const read = bytes.toString('utf8');
  if (base64.length > longest * 2 || bytes.length > longest || !bytes.equals(Buffer.from(read))) {
    return new Failure(`${name} must be text in base64`, true);
  }
  return read;
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '' && url.hash === '';
  if (!plain || url.username !== '' || url.password !== '') {
    refuse('iam_request_url must be the URL of AWS STS, without a path or a query');
  }
  return url;
}

function checkBody(body: string): void {
  const fields = [...new URLSearchParams(body)].map(([name, value]) => `${name}=${value}`).sort();
  if (fields.length !== 2 || fields[0] !== 'Action=GetCallerIdentity' || fields[1] !== 'Version=2011-06-15') {
    refuse('iam_request_body must be Action=GetCallerIdentity&Version=2011-06-15');
  }
}

/** The headers field: JSON, JSON in base64, or an object. It contains the signature, so errors never show it. */
export const headersField = () =>
  field<SentHeaders>({ type: 'string', format: 'password' }, headersOf, true, { empty: {}, several: true });

function headersOf(sent: unknown): SentHeaders | Failure {
  let read = sent;
  if (typeof sent === 'string' && sent !== '') {
    const json = sent.trimStart().startsWith('{') ? sent : textOf('iam_request_headers', sent);
    if (json instanceof Failure) return json;
    try {
      read = JSON.parse(json);
    } catch {
      return new Failure('iam_request_headers must be JSON, or JSON in base64', true);
    }
  }
  if (read === '') return {};
  if (!isObject(read)) return new Failure('iam_request_headers must be an object', true);
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(read)) {
    const values = [value].flat();
    const one = values.length === 1 && ['string', 'number'].includes(typeof values[0]) ? String(values[0]) : undefined;
    const lower = name.toLowerCase();
    if (one === undefined || !/^[\w-]{1,100}$/.test(name) || /[^\t\x20-\x7e]/.test(one) || headers.has(lower)) {
      return new Failure('iam_request_headers must name each header once, with one value', true);
    }
    headers.set(lower, one);
  }
  return Object.fromEntries(headers);
}

function signedOf(sentHeaders: ReadonlyMap<string, string>, config: AwsClient): Map<string, string> {
  const authorization = sentHeaders.get('authorization') ?? '';
  const list = /^AWS4-HMAC-SHA256 Credential=[^,\s]+, ?SignedHeaders=([a-z0-9;_-]+), ?Signature=[0-9a-f]{64}$/.exec(
    authorization,
  )?.[1];
  if (list === undefined) refuse('iam_request_headers: Authorization must be a signature of version 4');
  const names = list.split(';');
  if (!names.includes('host')) refuse('iam_request_headers: host must be signed');
  const further = new Set(config.allowed_sts_header_values.map((name) => name.toLowerCase()));
  const odd = names.find((name) => !signable.has(name) && !further.has(name));
  if (odd !== undefined) refuse(`iam_request_headers: ${odd} is not among allowed_sts_header_values`);
  const headers = new Map([['authorization', authorization]]);
  for (const name of names) {
    const value = sentHeaders.get(name);
    if (value === undefined && name !== 'host') refuse(`iam_request_headers: ${name} is signed but missing`);
    if (value !== undefined) headers.set(name, value);
  }
  // These headers are added even if they are not signed, because older signers, and signers with temporary credentials,
  // do not sign them.
  for (const name of ['x-amz-date', 'x-amz-security-token']) {
    const value = sentHeaders.get(name);
    if (value !== undefined) headers.set(name, value);
  }
  return headers;
}

function checkServerId(
  headers: ReadonlyMap<string, string>,
  { iam_server_id_header_value: serverId }: AwsClient,
): void {
  if (serverId === '') return;
  const value = headers.get(serverIdHeader);
  if (value === undefined) refuse('error validating X-Vault-AWS-IAM-Server-ID header: it is missing, or not signed');
  if (value !== serverId) refuse('error validating X-Vault-AWS-IAM-Server-ID header: it is meant for another server');
}
