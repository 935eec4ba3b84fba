/**
 * Replaces secrets in a string, also in the form that they have in JSON and Rego values. Longer secrets are replaced
 * first, because one secret may be the beginning of another.
 */
export function masked(text: string, secrets: readonly string[]): string {
  const inJson = (secret: string) => JSON.stringify(secret).slice(1, -1);
  const inRego = (secret: string) =>
    inJson(secret).replace(/[<>&]/g, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`);
  return secrets
    .filter((secret) => secret !== '')
    .flatMap((secret) => [secret, inJson(secret), inRego(secret)])
    .sort((one, other) => other.length - one.length)
    .reduce((current, secret) => current.replaceAll(secret, '***'), text);
}
