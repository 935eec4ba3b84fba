/** A random text that binds the steps of a sign-in to this page. */
export const newNonce = (): string =>
  [...crypto.getRandomValues(new Uint8Array(24))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
