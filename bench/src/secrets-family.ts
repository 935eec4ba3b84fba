import type { Setting } from './family';
import type { Scenario } from './scenario';

export async function secretsFamily(_setting: Setting): Promise<Scenario[]> {
  return [];
}
