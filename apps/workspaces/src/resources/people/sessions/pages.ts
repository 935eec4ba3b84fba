import { endpoints } from '../../../kernel/endpoints/endpoint';
import { page } from './page';

const { raw } = endpoints({}, undefined, { organizationsOf: () => [] });

const tokenPage = page(
  'Create an API token',
  `<p>Sign in to create a token for the command line. It is shown once.</p>
<form>
<label>User name or e-mail address <input name="username" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<label>Code, if the account has a second factor <input name="code" inputmode="numeric" autocomplete="one-time-code"></label>
<label>What the token is for <input name="description" maxlength="255"></label>
<button>Create token</button>
</form>`,
  `const run = async ({ description, ...credentials }) => {
  const session = await api('POST', '/api/v2/session', { type: 'sessions', attributes: credentials });
  const key = session.data.attributes.token;
  const user = session.data.relationships.user.data.id;
  const token = { type: 'authentication-tokens', attributes: description ? { description } : {} };
  const made = await api('POST', '/api/v2/users/' + user + '/authentication-tokens', token, key);
  await api('DELETE', '/api/v2/session', undefined, key);
  form.reset();
  say('Your token: ', made.data.attributes.token);
};`,
);

/** Where clients without a login of their own send people for a token. */
export const tokenPageEndpoint = raw('GET')('/app/settings/tokens', {
  summary: 'A page to sign in on and create an API token.',
  answers: { 200: { description: 'The page.', type: 'text/html', schema: { type: 'string' } } },
  outside: true,
  auth: 'none',
  run: async () => tokenPage,
});

const linkPage = page(
  'Welcome',
  `<p id="what">One moment…</p>
<form hidden>
<label id="name">User name <input name="username" autocomplete="username"></label>
<label id="new">Password, at least ten characters
<input name="password" type="password" autocomplete="new-password"></label>
<label id="own">Token of your account <input name="token" type="password" autocomplete="off"></label>
<button>Go on</button>
</form>`,
  `const path = '/api/v2/one-time-links/' + encodeURIComponent(location.pathname.split('/').pop());
const what = document.querySelector('#what');
const run = async ({ token, ...attributes }) => {
  const { data } = await api('POST', path, { type: 'one-time-links', attributes }, token);
  form.remove();
  what.textContent = 'Done. You can sign in as ' + data.attributes.username + '.';
  say('');
};
api('GET', path).then(({ data: { attributes: link } }) => {
  const invited = link.kind === 'invitation';
  what.textContent = invited
    ? 'You are invited to the organization ' + link.organization + ' as ' + link.email + '.'
    : 'Choose a new password for ' + link.email + '.';
  if (!link['needs-username']) document.querySelector('#name').remove();
  document.querySelector(link['needs-password'] ? '#own' : '#new').remove();
  form.hidden = false;
}).catch(() => { what.textContent = 'This link has been used, or is too old.'; });`,
);

/** Where a person opens an invitation or a password reset. */
export const linkPageEndpoint = raw('GET')('/app/one-time-links/:secret', {
  summary: 'A page to accept an invitation or set a new password on.',
  answers: { 200: { description: 'The page.', type: 'text/html', schema: { type: 'string' } } },
  outside: true,
  auth: 'none',
  run: async () => linkPage,
});
