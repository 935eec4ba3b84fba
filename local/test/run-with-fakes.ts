// Runs the local program as `npm start` does, with stand-ins for both services.
import path from 'node:path';
import { main } from '../src/main';

const folder = process.env.FAKE_PROGRAMS!;
const programs = {
  secrets: path.join(folder, 'secrets.cjs'),
  workspaces: path.join(folder, 'workspaces.cjs'),
};
main(process.argv.slice(2), (_name, work) => work(), programs).catch((error) => {
  process.stderr.write(error.name === 'Stop' ? `${error.message}\n` : `${error.stack}\n`);
  process.exit(1);
});
