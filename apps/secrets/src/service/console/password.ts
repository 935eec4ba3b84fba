import { isRefusal, Refusal } from '@keystead/refusal';
import { SentPath } from '../../kernel/routing/sent-path';
import type { Kernel } from '../../pipeline/kernel';
import { handle } from '../../pipeline/pipeline';
import type { Outcome, Request } from '../../pipeline/request';
import type { PasswordSignIn } from './proof';
import type { From } from './trail';

/** A name and password, and where to log in. */
export type Login = Pick<PasswordSignIn, 'method' | 'mount' | 'username' | 'password' | 'namespace'>;

/** The second factors that a login still requires, as shown to clients. */
export interface Requirement {
  readonly mfa_request_id: string;
  readonly mfa_constraints: Readonly<Record<string, { readonly any: readonly { readonly id: string }[] }>>;
}

/** The result of a login with a correct password: its token, or the second factors that it still needs. */
export type Judged = { readonly token: string } | { readonly requirement: Requirement };

/**
 * Logs in with a name and a password like an outside request: the same limits, counts and audit lines. Throws
 * `unauthenticated` for a wrong name or password, and `invalid` if a mount has no password logins.
 */
export async function logIn(kernel: Kernel, login: Login, from: From): Promise<Judged> {
  const { method, username, password, namespace = '' } = login;
  const mount = mountPath(login.mount);
  await requirePasswordMount(kernel, method, mount, namespace);
  if (/[/\u0000-\u001f]/.test(username)) throw wrong();
  const outcome = await ask(kernel, from, `${mount}login/${username}`, namespace, { password });
  const auth = outcome.envelope?.auth;
  if (!auth) throw wrong();
  if (auth.mfaRequirement) return { requirement: auth.mfaRequirement as unknown as Requirement };
  return { token: auth.clientToken };
}

/** Finishes a login with a code. Throws `unauthenticated` for a wrong code. */
export async function proveCode(
  kernel: Kernel,
  { mfa_request_id, mfa_constraints }: Requirement,
  code: string,
  namespace: string,
  from: From,
): Promise<string> {
  const ids = Object.values(mfa_constraints).flatMap(({ any }) => any.map(({ id }) => id));
  const mfa_payload = Object.fromEntries(ids.map((id) => [id, [code]]));
  const outcome = await ask(kernel, from, 'sys/mfa/validate', namespace, { mfa_request_id, mfa_payload });
  const token = outcome.envelope?.auth?.clientToken;
  if (!token) throw new Refusal('unauthenticated', 'the code is wrong, or was used before');
  return token;
}

/** The path of a mount. `userpass`, `userpass/` and `auth/userpass/` mean the same mount. */
export const mountPath = (path: string): string => `auth/${path.replace(/^\/*(auth\/)?|(?<!\/)\/+$/g, '')}/`;

async function requirePasswordMount(
  kernel: Kernel,
  method: Login['method'],
  mount: string,
  namespace: string,
): Promise<void> {
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  const found = await kernel.mounts.seek(namespaceOf(kernel, namespace), mount);
  if (found?.type === method) return;
  throw new Refusal('invalid', 'this mount has no sign-in with a password', [
    { path: ['mount'], message: `is not a login method of this namespace of type ` },
  ]);
}

/** The id of a namespace by its path. Throws `invalid`. */
export function namespaceOf({ namespaces }: Pick<Kernel, 'namespaces'>, path: string): string {
  try {
    return namespaces.resolve(path, '').namespace.uuid;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new Refusal('invalid', error.message, [{ path: ['namespace'], message: 'does not exist' }]);
  }
}

async function ask(
  kernel: Kernel,
  from: From,
  path: string,
  namespace: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<Outcome> {
  try {
    return await asIfSent(kernel, from, { verb: 'write', path, namespace, fields });
  } catch (error) {
    if (!isRefusal(error) || !['invalid', 'denied', 'malformed', 'unsupported-path'].includes(error.kind)) throw error;
    throw fields.password === undefined
      ? new Refusal('unauthenticated', 'the code is wrong, or was used before')
      : wrong();
  }
}

/** Runs a request without a token, as if it came from outside. */
export async function asIfSent(
  kernel: Kernel,
  from: From,
  { verb, path, namespace, fields }: PlainRequest,
): Promise<Outcome> {
  const sentPath = SentPath.read(path);
  if (!(sentPath instanceof SentPath)) throw new Refusal('malformed', 'must be a path');
  const text = JSON.stringify(fields);
  const request: Request = {
    id: from.requestId,
    verb,
    headOnly: false,
    path: sentPath,
    namespace,
    token: undefined,
    session: undefined,
    wrapTtl: undefined,
    mfa: [],
    sent: { fields, exact: false, bytes: Buffer.byteLength(text), text },
    readBody: undefined,
    ifNoneMatch: undefined,
    address: from.address,
    header: () => undefined,
    certificates: () => [],
    help: false,
  };
  return handle(kernel, request);
}

/** A request without a token. */
export interface PlainRequest {
  readonly verb: 'read' | 'write';
  readonly path: string;
  readonly namespace: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const wrong = (): Refusal => new Refusal('unauthenticated', 'wrong user name or password');
