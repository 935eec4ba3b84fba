import { labelSelector } from '../../sdk/label-selector';
import { refuse } from '../../sdk/refuse';

/** Whether the labels of a namespace match a selector. Throws `invalid` for an invalid one. */
export const namespaceSelector = (selector: string) =>
  labelSelector(selector, (why) => refuse(`invalid "bound_service_account_namespace_selector" configured: ${why}`));
