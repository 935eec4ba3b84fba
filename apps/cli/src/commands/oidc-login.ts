import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceResponse } from '../client';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';

/** Fields of `login -method=oidc`, with their usual names. */
const oidcFields = [
  'role',
  'port',
  'listenaddress',
  'callbackhost',
  'callbackport',
  'callbackmethod',
  'callbackmode',
  'skip_browser',
] as const;

type Fields = Readonly<Record<string, unknown>>;

/** The time that a user has to sign in at the provider. */
const patienceMs = 5 * 60_000;
const mostFormBytes = 64 * 1024;

/**
 * Signs in at the provider of a mount. Depending on the role, opens a browser that returns to a listener on this
 * machine, or polls until the login is finished elsewhere. Returns the login.
 */
export async function signInAtProvider(context: Context, mount: string, fields: Fields): Promise<ServiceResponse> {
  const unknown = Object.keys(fields).find((name) => !(oidcFields as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Problem(`${unknown} is not a field of this login: use ${oidcFields.join(', ')}`);
  const nonce = randomBytes(24).toString('base64url');
  const direct = fields.callbackmode === 'direct';
  const listener = direct ? undefined : await Listener.open(fields);
  try {
    const redirect_uri = listener?.address ?? `${context.settings.address}/v1/auth/${mount}/oidc/callback`;
    const body = { ...(fields.role ? { role: fields.role } : {}), redirect_uri, client_nonce: nonce };
    const answer = await context.client.post(`auth/${mount}/oidc/auth_url`, body, { anonymous: true });
    const { auth_url: url, state, user_code, poll_interval } = answer.body?.data ?? {};
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) {
      const why = answer.body?.warnings?.[0] ?? 'the service returned no address';
      throw new Problem(`${why}: ask an administrator to allow ${redirect_uri}`, exitCodes.refused);
    }
    lead(context, url, fields.skip_browser);
    if (typeof user_code === 'string' && user_code !== '') context.output.note(`There, enter the code ${user_code}`);
    if (typeof state === 'string') {
      listener?.close();
      return await ask(context, mount, state, nonce, Number(poll_interval) || 5);
    }
    if (!listener) throw new Problem('the role does not have callback_mode direct: leave callbackmode out');
    return await listener.finish((sent) => redeem(context, mount, nonce, sent));
  } finally {
    listener?.close();
  }
}

function lead({ output }: Context, url: string, skipBrowser: unknown): void {
  output.note(`Sign in here:\n\n    ${url}\n`);
  if (skipBrowser === true || skipBrowser === 'true' || skipBrowser === '1') return;
  const [program, ...more] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open'];
  const opening = spawn(program!, [...more, url], { stdio: 'ignore', detached: true });
  opening.on('error', () => output.note('Cannot open a browser here: open the URL yourself.'));
  opening.unref();
}

/** Polls until the login is finished elsewhere. */
async function ask(
  context: Context,
  mount: string,
  state: string,
  nonce: string,
  seconds: number,
): Promise<ServiceResponse> {
  const endMs = Date.now() + patienceMs;
  let waitSeconds = seconds;
  while (Date.now() < endMs) {
    await sleep(waitSeconds * 1000);
    const body = { state, client_nonce: nonce };
    const answer = await context.client.post(`auth/${mount}/oidc/poll`, body, { anonymous: true, accept: [400] });
    if (answer.status !== 400) return answer;
    const reason = answer.body?.errors?.[0] ?? '';
    if (reason === 'slow_down') waitSeconds += 5;
    else if (reason !== 'authorization_pending') throw new Problem(reason, exitCodes.refused);
  }
  throw tooLate();
}

async function redeem(context: Context, mount: string, nonce: string, sent: SentBack): Promise<ServiceResponse> {
  const at = `auth/${mount}/oidc/callback`;
  return context.client.get(at, { anonymous: true, query: { ...sent, client_nonce: nonce } });
}

/** The parameters that the browser brings back from the provider. */
type SentBack = Readonly<Record<string, string>>;

const returnParameters = ['state', 'code', 'iss', 'error', 'error_description'] as const;

/** Waits on this machine for the browser. */
class Listener {
  private constructor(
    private readonly server: Server,
    /** The redirect address for the provider. */
    readonly address: string,
  ) {}

  static async open(fields: Fields): Promise<Listener> {
    const { port = '8250', listenaddress = 'localhost', callbackhost = 'localhost' } = fields as Record<string, string>;
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(Number(port), listenaddress, resolve);
    }).catch((error) => {
      throw new Problem(`cannot listen on ${listenaddress}:${port} (${error.code}): choose another port with port=…`);
    });
    const { callbackport = String((server.address() as AddressInfo).port), callbackmethod = 'http' } = fields;
    return new Listener(server, `${callbackmethod}://${callbackhost}:${callbackport}/oidc/callback`);
  }

  /** Passes on the browser's parameters, and shows people the result. */
  finish(redeem: (sent: SentBack) => Promise<ServiceResponse>): Promise<ServiceResponse> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(tooLate()), patienceMs);
      let answered = false;
      this.server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
        const sent = await read(request).catch(() => undefined);
        // Browsers also request icons, and any local program may connect.
        if (!sent || answered) return show(response, 404, 'There is nothing here.');
        answered = true;
        clearTimeout(late);
        try {
          const answer = await redeem(sent);
          show(response, 200, 'Signed in. You can close this page and go back to the terminal.');
          resolve(answer);
        } catch (error) {
          show(response, 400, 'The sign-in failed. See the terminal for the reason.');
          reject(error);
        }
      });
    });
  }

  close(): void {
    this.server.close();
    this.server.closeIdleConnections();
  }
}

async function read(request: IncomingMessage): Promise<SentBack | undefined> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const byForm = request.method === 'POST';
  if (url.pathname !== '/oidc/callback' || !(byForm || request.method === 'GET')) return undefined;
  const parameters = byForm ? new URLSearchParams(await formOf(request)) : url.searchParams;
  if (!parameters.has('state')) return undefined;
  return Object.fromEntries(
    returnParameters.flatMap((name) => (parameters.has(name) ? [[name, parameters.get(name)!]] : [])),
  );
}

async function formOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) {
    text += part;
    if (text.length > mostFormBytes) throw new Error('too large');
  }
  return text;
}

function show(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    Connection: 'close',
  });
  response.end(`${text}\n`);
}

const tooLate = (): Problem => new Problem('no one signed in within five minutes: try again', exitCodes.refused);
