import { createLazyRoute } from '@tanstack/react-router';
import { createElement } from 'react';
import { Applications } from './applications';
import { Identities } from './identities';
import { Methods } from './methods';
import { SecondFactor } from './second-factor';
import { Tokens } from './tokens';
import { ViewAs } from './view-as';

export const methods = createLazyRoute('/access')({ component: Methods });
export const entities = createLazyRoute('/access/entities')({
  component: () => createElement(Identities, { kind: 'entity' }),
});
export const groups = createLazyRoute('/access/groups')({
  component: () => createElement(Identities, { kind: 'group' }),
});
export const tokens = createLazyRoute('/access/tokens')({ component: Tokens });
export const viewAs = createLazyRoute('/access/view-as')({ component: ViewAs });
export const secondFactor = createLazyRoute('/access/second-factor')({ component: SecondFactor });
export const applications = createLazyRoute('/access/applications')({ component: Applications });
