import { codeRequired } from '@keystead/console-host';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { Kernel } from '../../pipeline/kernel';
import { asIfSent, mountPath, namespaceOf, proveCode, type Requirement } from './password';
import type { ProviderSignIn } from './proof';
import type { From } from './trail';

/**
 * Finishes a sign-in at a provider that the page started, like an outside request, and returns its token. Throws
 * `unauthenticated` if it failed, and asks for the code of a second factor for the waiting request.
 */
export async function comeBack(kernel: Kernel, proof: ProviderSignIn, from: From): Promise<string> {
  const { namespace = '', request, code } = proof;
  const mount = mountPath(proof.mount);
  await requireProviderMount(kernel, mount, namespace);
  if (request !== undefined) {
    if (!code) throw waitingFor(request);
    const [mfa_request_id = '', methods = ''] = request.split(':');
    const any = methods.split(',').map((id) => ({ id }));
    return proveCode(kernel, { mfa_request_id, mfa_constraints: { all: { any } } }, code, namespace, from);
  }
  const { state = '', authorization, iss, nonce = '' } = proof;
  const fields = { state, code: authorization ?? '', client_nonce: nonce, ...(iss ? { iss } : {}) };
  const path = `${mount}oidc/callback`;
  const outcome = await asIfSent(kernel, from, { verb: 'read', path, namespace, fields }).catch((error) => {
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

/** Asks for a code, and names the waiting login, because the provider's code is used up. */
function waitingFor(request: string): Refusal {
  const { kind, message, issues } = codeRequired();
  return new Refusal(kind, message, [...issues, { path: ['request'], message: request }]);
}

async function requireProviderMount(kernel: Kernel, mount: string, namespace: string): Promise<void> {
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  const found = await kernel.mounts.seek(namespaceOf(kernel, namespace), mount);
  if (found?.type === 'oidc' || found?.type === 'jwt') return;
  throw new Refusal('invalid', 'there is no sign-in at a provider there', [
    { path: ['mount'], message: 'is not an oidc login method of this namespace' },
  ]);
}
