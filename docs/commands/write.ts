import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '../../apps/cli/src/commands/all';
import { pageOf } from './page';

writeFileSync(join(__dirname, '..', 'commands.md'), pageOf(commands));
