import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** The answer of an ACME server. */
export interface AcmeReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every part
  readonly body: any;
  readonly text: string;
  readonly headers: Headers;
}

/** Changes that a test makes to a message before it is signed. */
export interface Changed {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: KeyObject;
  /** Signs instead of the key. */
  readonly signature?: (content: string) => Buffer;
}

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** The public half of a key as JSON. */
export const jwkOf = (key: KeyObject): Record<string, string> => {
  const { d: _private, ...jwk } = key.export({ format: 'jwk' }) as Record<string, string>;
  return jwk;
};

export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** A message in flattened JSON; an empty payload reads a resource (POST-as-GET). */
export function signed(header: object, payload: unknown, key: KeyObject, signature?: Changed['signature']) {
  const content = `${base64url(header)}.${payload === undefined ? '' : base64url(payload)}`;
  const made = signature?.(content) ?? sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  const [head, body] = content.split('.');
  return { protected: head, payload: body, signature: made.toString('base64url') };
}

/** A client of RFC 8555 that can also send invalid messages. */
export class AcmeClient {
  kid: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a directory
  directory: any;

  constructor(
    readonly at: string,
    public key: KeyObject = newKey(),
    private readonly saw?: (method: string, url: string, status: number, body: unknown, media: string) => void,
  ) {}

  async start(account: object | null = {}): Promise<this> {
    this.directory = await (await fetch(this.at)).json();
    if (account) {
      const made = await this.post(this.directory.newAccount, account);
      if (made.status > 201) throw new Error(made.text);
      this.kid = made.headers.get('location')!;
    }
    return this;
  }

  async nonce(url: string = this.directory.newNonce): Promise<string> {
    return (await fetch(url, { method: 'HEAD' })).headers.get('replay-nonce')!;
  }

  async post(url: string, payload?: unknown, { header, key = this.key, signature }: Changed = {}): Promise<AcmeReply> {
    const who = this.kid === undefined ? { jwk: jwkOf(key) } : { kid: this.kid };
    const head = { alg: 'ES256', nonce: await this.nonce(), url, ...who, ...header };
    return this.send(url, signed(head, payload, key, signature));
  }

  async send(url: string, message: unknown): Promise<AcmeReply> {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/jose+json' },
      body: JSON.stringify(message),
    });
    const text = await answer.text();
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {}
    const media = answer.headers.get('content-type') ?? '';
    this.saw?.('POST', new URL(url).pathname, answer.status, text === '' ? {} : body, media);
    return { status: answer.status, body, text, headers: answer.headers };
  }

  /** The key authorization of a challenge. */
  answerTo(token: string): string {
    const { crv, kty, x, y } = jwkOf(this.key);
    const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
    return `${token}.${thumbprint}`;
  }

  /** Binds the account's key to a key of `new-eab`. */
  binding(eab: { readonly id: string; readonly key: string }, url: string) {
    const header = { alg: 'HS256', kid: eab.id, url };
    return signed(header, jwkOf(this.key), this.key, (content) =>
      createHmac('sha256', Buffer.from(eab.key, 'base64url')).update(content).digest(),
    );
  }

  order(...names: readonly string[]): Promise<AcmeReply> {
    const identifiers = names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value }));
    return this.post(this.directory.newOrder, { identifiers });
  }

  /** Waits until a resource is in one of these states. */
  until(url: string, ...states: readonly string[]): Promise<AcmeReply> {
    return this.untilThat(url, ({ status }) => states.includes(status));
  }

  /** Waits until a challenge shows an error. */
  untilError(url: string): Promise<AcmeReply> {
    return this.untilThat(url, ({ error }) => error !== undefined);
  }

  private async untilThat(url: string, fits: (body: AcmeReply['body']) => boolean): Promise<AcmeReply> {
    for (let tries = 0; ; tries++) {
      const answer = await this.post(url);
      if (fits(answer.body)) return answer;
      if (tries > 300) throw new Error(`still ${answer.text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
