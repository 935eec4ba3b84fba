import type { RawReply } from '../../sdk/reply';
import type { PendingLogin } from './pending';

const headers = {
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** A page with one sentence, for a redirected browser. */
export function page(title: string, text: string, status = 200): RawReply {
  return html(title, `<p>${escaped(text)}</p>`, status);
}

/**
 * Asks users whether they started this login, and shows where it was started, because an attacker's link looks the
 * same.
 */
export function confirmPage(pending: PendingLogin, fields: Readonly<Record<string, string>>): RawReply {
  const hidden = Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`);
  const role = escaped(pending.role);
  const from = escaped(pending.address);
  return html(
    'Is this login yours?',
    `<p>Someone at ${from} is signing in with the role ${role}. Continue only if you started this login yourself.</p>
<form method="get">${hidden.join('')}<button type="submit">Yes, sign in</button></form>`,
  );
}

function html(title: string, body: string, status = 200): RawReply {
  const text = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head>
<body><main><h1>${escaped(title)}</h1>${body}</main></body></html>`;
  return { kind: 'raw', status, body: text, contentType: 'text/html; charset=utf-8', headers };
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
