import type { Transport } from '../api/transport';

/** Whether this browser can ask passkeys and put what they say into JSON. */
export const knowsPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

type Purpose = 'sign-in' | 'step-up' | 'add';

const question = <T>(transport: Transport, purpose: Purpose): Promise<T> =>
  transport.call<T>('POST', '/ui/passkeys/ask', { for: purpose });

/** Has the person show a passkey, and answers what the service checks. Throws if none was shown. */
export async function askPasskey(transport: Transport, purpose: 'sign-in' | 'step-up'): Promise<object> {
  const options = await question<PublicKeyCredentialRequestOptionsJSON>(transport, purpose);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return answerOf(navigator.credentials.get({ publicKey }), options.rpId);
}

/** Has the person make a passkey for their account. */
export async function makePasskey(transport: Transport): Promise<object> {
  const options = await question<PublicKeyCredentialCreationOptionsJSON>(transport, 'add');
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return answerOf(navigator.credentials.create({ publicKey }), options.rp.id);
}

async function answerOf(asked: Promise<Credential | null>, host: string | undefined): Promise<object> {
  const shown = await asked.catch((error: unknown) => {
    throw new Error(saidOf(error, host), { cause: error });
  });
  return (shown as PublicKeyCredential).toJSON() as object;
}

function saidOf(error: unknown, host = ''): string {
  const { name = '', message = '' } = error as Partial<DOMException>;
  if (name === 'SecurityError') {
    return `Passkeys of this service belong to ${host} and do not work at ${location.origin}: open the console there.`;
  }
  if (name === 'InvalidStateError') return 'This device already has a passkey of this account.';
  return name === 'NotAllowedError' ? 'No passkey was used: the request was cancelled, or it took too long.' : message;
}
