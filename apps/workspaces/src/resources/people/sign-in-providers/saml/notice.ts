import { createHash } from 'node:crypto';
import type { Raw } from '../../../../kernel/endpoints/endpoint';

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 30rem; margin: 4rem auto; padding: 0 1rem }`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A page that shows one message to a person, and a link back to the console. */
export function notice(status: number, title: string, message: string): Raw {
  const escaped = message.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
    },
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
<h1>${title}</h1>
<p>${escaped}</p>
<p><a href="/ui/">Back to the sign-in page</a></p>
</html>
`,
  };
}
