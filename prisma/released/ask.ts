/** An answer, with its parsed body if it is JSON. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
  readonly body: any;
}

/** One request to a service; a path that begins with a slash is used as it is. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Sends one request, its body as JSON unless it is bytes. Rejects if nothing answers. */
export async function ask(address: string, { method, path, headers = {}, body }: Asked): Promise<Answer> {
  const bytes = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
  const sent = new Headers(headers);
  if (bytes !== undefined && !sent.has('Content-Type')) sent.set('Content-Type', 'application/json');
  const response = await fetch(`${address}${path}`, {
    method,
    headers: sent,
    body: bytes as RequestInit['body'],
    redirect: 'manual',
    signal: AbortSignal.timeout(60_000),
  });
  const text = Buffer.from(await response.arrayBuffer()).toString();
  try {
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  } catch {
    return { status: response.status, body: text };
  }
}

/** Like `ask`, but throws unless the answer is a success; returns the body. */
export async function insist(address: string, asked: Asked): Promise<Answer['body']> {
  const { status, body } = await ask(address, asked);
  if (status < 200 || status > 299) {
    throw new Error(`${asked.method} ${asked.path}: ${status} ${JSON.stringify(body)}`);
  }
  return body;
}
