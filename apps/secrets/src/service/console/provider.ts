import { codeRequired } from '@keystead/console-host';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { Kernel } from '../../pipeline/kernel';
import { asIfSent, mountPath, namespaceOf, type PlainRequest, proveCode, type Requirement } from './password';
import type { PasskeySignIn, ProviderSignIn } from './proof';
import type { From } from './trail';

type Proof = ProviderSignIn | PasskeySignIn;

/** For each sign-in method whose proof is used up by the login: the types of its mounts, and the path that logs in. */
const ways: {
  readonly [M in Proof['method']]: {
    readonly types: readonly string[];
    /** The refusal for a mount of another type. */
    readonly wrong: string;
    readonly verb: PlainRequest['verb'];
    readonly path: string;
    fields(proof: Extract<Proof, { method: M }>): PlainRequest['fields'];
  };
} = {
  oidc: {
    types: ['oidc', 'jwt'],
    wrong: 'is not an oidc login method of this namespace',
    verb: 'read',
    path: 'oidc/callback',
    fields: ({ state = '', authorization = '', iss, nonce = '' }) => {
      return { state, code: authorization, client_nonce: nonce, ...(iss ? { iss } : {}) };
    },
  },
  passkey: {
    types: ['userpass'],
    wrong: 'is not a userpass login method of this namespace',
    verb: 'write',
    path: 'passkey/login',
    fields: ({ passkey: credential, nonce = '' }) => ({ credential, client_nonce: nonce }),
  },
};

/**
 * Finishes a login that the page started, at a provider or with a passkey, like an outside request, and returns its
 * token. Throws `unauthenticated` if the login failed. If it waits for a second factor, the thrown refusal asks for the
 * code.
 */
export async function finishLogin(kernel: Kernel, proof: Proof, from: From): Promise<string> {
  const { namespace = '', request, code } = proof;
  const way = ways[proof.method];
  const mount = mountPath(proof.mount);
  await requireMount(kernel, mount, namespace, way);
  if (request !== undefined) {
    if (!code) throw waitingFor(request);
    const [mfa_request_id = '', methods = ''] = request.split(':');
    const any = methods.split(',').map((id) => ({ id }));
    return proveCode(kernel, { mfa_request_id, mfa_constraints: { all: { any } } }, code, namespace, from);
  }
  const { verb } = way;
  const sent = { verb, path: loginPath(proof), namespace, fields: way.fields(proof as never) };
  const outcome = await asIfSent(kernel, from, sent).catch((error) => {
    if (!isRefusal(error) || !['invalid', 'denied', 'malformed'].includes(error.kind)) throw error;
    throw new Refusal('unauthenticated', error.message, [], { cause: error });
  });
  const auth = outcome.envelope?.auth;
  if (!auth) throw new Refusal('unauthenticated', 'the role of this sign-in has a callback_mode for other clients');
  if (!auth.mfaRequirement) return auth.clientToken;
  const { mfa_request_id, mfa_constraints } = auth.mfaRequirement as unknown as Requirement;
  const methods = Object.values(mfa_constraints).flatMap(({ any }) => any.map(({ id }) => id));
  throw waitingFor(`${mfa_request_id}:${methods.join(',')}`);
}

/** The path where the login is made, which is also the path of its token. */
export const loginPath = ({ method, mount }: Proof): string => mountPath(mount) + ways[method].path;

/** The refusal that asks for a code. It names the waiting login, because the proof of the login is used up. */
function waitingFor(request: string): Refusal {
  const { kind, message, issues } = codeRequired();
  return new Refusal(kind, message, [...issues, { path: ['request'], message: request }]);
}

async function requireMount(
  kernel: Kernel,
  mount: string,
  namespace: string,
  { types, wrong }: { readonly types: readonly string[]; readonly wrong: string },
): Promise<void> {
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  const found = await kernel.mounts.seek(namespaceOf(kernel, namespace), mount);
  if (found && types.includes(found.type)) return;
  throw new Refusal('invalid', 'this mount has no such sign-in', [{ path: ['mount'], message: wrong }]);
}
