// A stand-in for a built service: it answers the local program's requests, stores its "data" in a file next to its log,
// and follows a few commands, so that the program can be tested without the services.
const http = require('node:http');
const fs = require('node:fs');

const name = require('node:path').basename(process.argv[1]).startsWith('secrets') ? 'secrets' : 'workspaces';
const prefix = name.toUpperCase();
const env = process.env;
const state = `${env.FAKE_STATE}-${name}`;

if (process.argv[2] === '--help') {
  process.stdout.write(`${prefix}_A_SETTING\n`);
  process.exit(0);
}
if (env.FAKE_BROKEN === name) {
  process.stderr.write(`${prefix}_SOMETHING is not a known setting\n`);
  process.exit(1);
}
for (const variable of [`${prefix}_DATABASE_URL`, `${prefix}_SEAL_KEY_FILE`]) {
  if (!env[variable]) throw new Error(`${variable} is not set`);
}
if (process.argv[2] === 'first-run') {
  const admin = { username: 'admin', password: 'fake-password', token: 'fake-token' };
  process.stdout.write(JSON.stringify(fs.existsSync(state) ? null : admin));
  fs.writeFileSync(state, '');
  process.exit(0);
}

const server = http.createServer((request, response) => {
  const answer = (body, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (request.url === '/v1/sys/init' && request.method === 'GET') return answer({ initialized: fs.existsSync(state) });
  if (request.url === '/v1/sys/init') {
    fs.writeFileSync(state, '');
    return answer({ root_token: 'fake-root', recovery_keys: ['1', '2', '3', '4', '5'] });
  }
  if (request.url === '/livez') return answer({});
  if (request.url === '/pid') return answer(process.pid);
  if (request.url === '/die') process.kill(process.pid, 'SIGKILL');
  answer({ database: env[`${prefix}_DATABASE_URL`] });
});
server.listen(Number(env[`${prefix}_PORT`]), env[`${prefix}_HOST`]);
process.on('SIGTERM', () => {
  server.close(() => fs.appendFileSync(`${env.FAKE_STATE}-drained`, `${name}\n`));
  server.closeAllConnections();
});
