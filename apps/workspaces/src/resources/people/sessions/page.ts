import { createHash } from 'node:crypto';
import type { Raw } from '../../../kernel/endpoints/endpoint';

/** What the pages share: small enough to be sent whole, without anything from elsewhere. */
const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 30rem; margin: 4rem auto; padding: 0 1rem }
label { display: block; margin: 1rem 0 }
input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .4rem; margin-top: .25rem }
button { font: inherit; padding: .4rem 1.2rem }
output { display: block; margin: 1.5rem 0; overflow-wrap: anywhere }
code { user-select: all }`;

/** Sends JSON:API documents and shows what a refusal says; texts are set, never parsed, so that nothing can run. */
const client = `
const api = async (method, path, data, token) => {
  const headers = { 'Content-Type': 'application/vnd.api+json', Accept: 'application/vnd.api+json' };
  if (token) headers.Authorization = 'Bearer ' + token;
  const answer = await fetch(path, { method, headers, body: data && JSON.stringify({ data }) });
  const body = answer.status === 204 ? {} : await answer.json();
  if (!answer.ok) throw new Error(body.errors.map((e) => e.detail || e.title).join('; '));
  return body;
};
const form = document.querySelector('form');
const output = document.querySelector('output');
const say = (text, code) => {
  output.textContent = text;
  if (code) { const c = document.createElement('code'); c.textContent = code; output.append(c); }
};
const given = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''));
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  try { await run(given()); } catch (error) { say(error.message); }
});`;

/** A page of its own: it loads nothing, is kept nowhere, and no other site may frame it or learn its address. */
export function page(title: string, body: string, run: string): Raw {
  const script = `'use strict';${client}\n${run}`;
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
<h1>${title}</h1>
${body}
<output role="status"></output>
<script>${script}</script>
</html>
`;
  return {
    status: 200,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy.join('; '),
      'Referrer-Policy': 'no-referrer',
    },
    body: html,
  };
}
