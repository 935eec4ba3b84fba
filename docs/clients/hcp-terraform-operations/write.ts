import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resources } from '../../../apps/workspaces/src/resources/registry';
import { compare } from './compare';
import { pageOf } from './page';
import { reference } from './reference';

writeFileSync(join(__dirname, '..', 'hcp-terraform-operations.md'), pageOf(compare(reference, resources)));
