// Shows the OpenAPI document of this service as the owner of the pasted token may see it. The token is kept only in a
// variable of this script, never in an element, an address, storage or a log. Requests are shown with a placeholder
// instead of the token.
(() => {
  const operations = document.querySelector('#operations');
  const { document: source, server, header, prefix, namespaceHeader } = operations.dataset;
  const form = document.querySelector('#caller');
  const tokenField = document.querySelector('#token');
  const namespaceField = document.querySelector('#namespace');
  const forget = document.querySelector('#forget');
  const status = document.querySelector('#said');
  const address = (path) => new URL(path, document.baseURI).href;
  const base = address(server || '.').replace(/\/$/, '');
  let token = '';
  let namespace = '';
  let requestCount = 0;

  const say = (text, refused = false) => {
    status.textContent = text;
    status.className = refused ? 'refused' : '';
  };

  const headersFor = (credential, inside) => ({
    ...(credential ? { [header]: `${prefix}${credential}` } : {}),
    ...(inside ? { [namespaceHeader]: inside } : {}),
  });

  const ask = (url, options) =>
    fetch(url, {
      ...options,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });

  async function reasonOf(answer) {
    const body = await answer.json().catch(() => undefined);
    const errors = Array.isArray(body?.errors) ? body.errors : [];
    const reasons = errors.map((one) => (typeof one === 'string' ? one : one.detail || one.title));
    return [`The service answered ${answer.status}`, ...reasons].join(': ');
  }

  // The document decides which operations are listed. The service has the same address as this page.
  async function load(credential, inside) {
    const answer = await ask(address(source), { headers: headersFor(credential, inside) });
    if (!answer.ok) throw new Error(await reasonOf(answer));
    return { ...(await answer.json()), servers: [{ url: base }] };
  }

  // Requests that users try go to this service only; the token is added after the request has been shown.
  function prepare(request) {
    // Parsed the way the browser parses it, because a parameter value may lead to another host or path.
    const { href, hash } = new URL(request.url, document.baseURI);
    if (hash !== '' || !`${href}/`.startsWith(`${base}/`)) throw new Error('Not an address of this service.');
    const sent = { ...headersFor(token, namespace) };
    request.headers = { ...request.headers, ...headersFor(token && '<token>', namespace) };
    request.userFetch = (url, options) => ask(url, { ...options, headers: { ...options.headers, ...sent } });
    return request;
  }

  const nothing = () => null;
  const withoutOwnTokens = () => ({
    wrapComponents: { authorizeBtn: () => nothing, authorizeOperationBtn: () => nothing },
  });

  function render(spec) {
    const domNode = document.createElement('div');
    operations.replaceChildren(domNode);
    window.SwaggerUIBundle({
      spec,
      domNode,
      presets: [window.SwaggerUIBundle.presets.apis],
      plugins: [withoutOwnTokens],
      layout: 'BaseLayout',
      docExpansion: 'none',
      defaultModelsExpandDepth: -1,
      filter: true,
      persistAuthorization: false,
      queryConfigEnabled: false,
      validatorUrl: null,
      requestInterceptor: prepare,
    });
  }

  const countOf = ({ paths }) =>
    Object.values(paths).reduce(
      (sum, item) => sum + ['get', 'post', 'put', 'patch', 'delete'].filter((method) => method in item).length,
      0,
    );

  // If several documents are requested, only the last is shown. A token is kept only after the service has accepted it.
  async function show(credential, inside) {
    requestCount += 1;
    const turn = requestCount;
    say('Loading …');
    try {
      const spec = await load(credential, inside);
      if (turn !== requestCount) return;
      token = credential;
      namespace = inside;
      forget.disabled = token === '';
      render(spec);
      const whose = token === '' ? 'without a token' : 'with the pasted token';
      say(`${countOf(spec)} operations ${whose}${inside ? ` in ${inside}` : ''}.`);
    } catch (error) {
      if (turn === requestCount) say(error.message, true);
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const pasted = tokenField.value.trim();
    tokenField.value = '';
    void show(pasted || token, namespaceField?.value.trim() ?? '');
  });
  forget.addEventListener('click', () => {
    token = '';
    void show('', namespace);
  });
  // The browser may keep a page in its back/forward cache after the user has left it.
  window.addEventListener('pagehide', () => {
    token = '';
    operations.replaceChildren();
  });
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) void show('', '');
  });
  void show('', '');
})();
