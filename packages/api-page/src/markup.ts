/** What the page shows about a service's API. Addresses are relative to the root of the service. */
export interface ApiPageOptions {
  readonly title: string;
  /** Where its OpenAPI document is. */
  readonly document: string;
  /** The base path of the document; empty if it is the root. */
  readonly server: string;
  /** The header that takes a token, and the text before the token in it. */
  readonly header: string;
  readonly prefix: string;
  /** The header that takes a namespace, if the service has namespaces. */
  readonly namespaceHeader?: string;
}

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

/**
 * The page itself. All addresses are relative, so that it works below a path that a proxy puts in front.
 *
 * The field for the token is not a password field and has no name, because browsers offer to save passwords and named
 * fields.
 */
export function markup({ title, document, server, header, prefix, namespaceHeader }: ApiPageOptions, files: string[]) {
  const data = Object.entries({ document, server, header, prefix, namespaceHeader: namespaceHeader ?? '' })
    .map(([name, value]) => ` data-${name.replace(/[A-Z]/g, (sign) => `-${sign.toLowerCase()}`)}="${escaped(value)}"`)
    .join('');
  const styles = files.filter((file) => file.endsWith('.css'));
  const scripts = files.filter((file) => file.endsWith('.js'));
  const namespace =
    namespaceHeader === undefined
      ? ''
      : '\n<label>Namespace <input id="namespace" autocomplete="off" spellcheck="false" placeholder="root"></label>';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
${styles.map((file) => `<link rel="stylesheet" href="${file}">`).join('\n')}
<header>
<h1>${escaped(title)}</h1>
<form id="caller">
<label>Token <input id="token" class="masked" autocomplete="off" spellcheck="false" autocapitalize="off"></label>${namespace}
<button type="submit">Show</button>
<button type="button" id="forget" disabled>Forget the token</button>
</form>
<p>The token stays in the memory of this page: it is in no address, kept nowhere, and gone when the page is.</p>
<p><output id="said" for="token" role="status">Loading …</output></p>
<noscript><p>This page needs JavaScript. The document itself: <a href="${escaped(document)}">${escaped(document)}</a></p></noscript>
</header>
<main id="operations"${data}></main>
${scripts.map((file) => `<script src="${file}"></script>`).join('\n')}
</html>
`;
}
