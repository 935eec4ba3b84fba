import type { Transport } from '../api/transport';
import { newNonce } from './nonce';

/** Whether this browser can use passkeys and convert their results to JSON. */
export const knowsPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

/** In the secrets service: the auth method that has the passkeys, for example `auth/userpass/`. */
export interface PasskeyMount {
  readonly mount: string;
  readonly namespace: string;
}

/** The URL of an endpoint of a mount, and the header with the namespace. */
export const atMount = ({ mount, namespace }: PasskeyMount, path: string) =>
  [`/v1/${mount}${path}`, { 'X-Service-Namespace': namespace }] as const;

const question = <T>(transport: Transport, purpose: 'sign-in' | 'step-up' | 'add'): Promise<T> =>
  transport.call<T>('POST', '/ui/passkeys/ask', { for: purpose });

/** Asks the person for a passkey and returns the fields of the proof. Throws if the person did not use one. */
export async function askPasskey(
  transport: Transport,
  purpose: 'sign-in' | 'step-up',
  mount?: PasskeyMount,
): Promise<object> {
  type Options = PublicKeyCredentialRequestOptionsJSON;
  if (mount === undefined) return { passkey: await use(await question<Options>(transport, purpose)) };
  const nonce = newNonce();
  const [path, headers] = atMount(mount, 'passkey/login/begin');
  const { data } = await transport.call<{ data: Options }>('POST', path, { client_nonce: nonce }, headers);
  return { passkey: await use(data), nonce };
}

function use(options: PublicKeyCredentialRequestOptionsJSON): Promise<object> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return answerOf(navigator.credentials.get({ publicKey }), options.rpId);
}

/** Asks the person to create a passkey for their account. */
export async function makePasskey(transport: Transport, mount?: PasskeyMount): Promise<object> {
  type Options = PublicKeyCredentialCreationOptionsJSON;
  const options =
    mount === undefined ? await question<Options>(transport, 'add') : await registration<Options>(transport, mount);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return answerOf(navigator.credentials.create({ publicKey }), options.rp.id);
}

async function registration<T>(transport: Transport, mount: PasskeyMount): Promise<T> {
  const [path, headers] = atMount(mount, 'passkey/register/begin');
  return (await transport.call<{ data: T }>('POST', path, {}, headers)).data;
}

async function answerOf(request: Promise<Credential | null>, host: string | undefined): Promise<object> {
  const shown = await request.catch((error: unknown) => {
    throw new Error(saidOf(error, host), { cause: error });
  });
  return (shown as PublicKeyCredential).toJSON() as object;
}

function saidOf(error: unknown, host = ''): string {
  const { name = '', message = '' } = error as Partial<DOMException>;
  if (name === 'SecurityError') {
    return `Passkeys of this service belong to ${host} and do not work at ${location.origin}: open the console there.`;
  }
  if (name === 'InvalidStateError') return 'This device already has a passkey for this account.';
  return name === 'NotAllowedError' ? 'No passkey was used: the request was cancelled or timed out.' : message;
}
