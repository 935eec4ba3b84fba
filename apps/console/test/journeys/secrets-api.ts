import { at } from './installation';

/** Calls the secrets service with the root token. */
export async function api(method: string, path: string, body?: object) {
  const answer = await fetch(`${at.installation.secretsUrl}/v1/${path}`, {
    method,
    headers: { 'X-Service-Token': at.installation.firstRun().secrets.root_token },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
