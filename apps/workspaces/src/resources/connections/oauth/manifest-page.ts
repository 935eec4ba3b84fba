import type { Raw } from '../../../kernel/endpoints/endpoint';
import type { ManifestPage } from './app-manifests';

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The page loads nothing, runs no scripts, cannot be framed, and posts only to one host. */
const policyOf = (origin: string): string =>
  ["default-src 'none'", `form-action ${origin}`, "frame-ancestors 'none'", "base-uri 'none'"].join('; ');

/**
 * The page from which a user posts a manifest to a host, because the console's own pages cannot post to other origins.
 */
export function manifestPage({ action, manifest, account }: ManifestPage): Raw {
  const { origin } = new URL(action);
  return {
    status: 200,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyOf(origin),
      'Referrer-Policy': 'no-referrer',
    },
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A GitHub App for Keystead</title>
<h1>A GitHub App for Keystead</h1>
<p>${escaped(origin)} shows the app that will be created for ${escaped(account)}. The app reads repositories, sets
statuses and writes comments. You can change its name there.</p>
<form method="post" action="${escaped(action)}">
<input type="hidden" name="manifest" value="${escaped(manifest)}">
<button autofocus>Continue at ${escaped(new URL(action).host)}</button>
</form>
</html>
`,
  };
}
