import type { Resource } from '../../../kernel/endpoints/endpoint';
import { identityKeyEndpoints } from './identity-keys';
import { infraVersionEndpoints } from './infra-versions';
import { organizationEndpoints } from './organizations';
import { reservedNameEndpoints } from './reserved-names';
import { runEndpoints } from './runs';
import { settingEndpoints } from './settings';
import { smsEndpoints } from './sms';
import { userEndpoints } from './users';
import { workspaceEndpoints } from './workspaces';

/** Site administration. Self-hosted edition only, for site administrators only. */
export const adminResource: Resource = {
  name: 'admin',
  endpoints: [
    ...organizationEndpoints,
    ...userEndpoints,
    ...reservedNameEndpoints,
    ...workspaceEndpoints,
    ...runEndpoints,
    ...infraVersionEndpoints,
    ...settingEndpoints,
    ...smsEndpoints,
    ...identityKeyEndpoints,
  ],
};
