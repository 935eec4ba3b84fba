import { labelSelector } from '../../sdk/label-selector';
import { refuse } from '../../sdk/refuse';

/** Parses a label selector for namespaces. Throws `invalid`. */
export const namespaceSelector = (selector: string) =>
  labelSelector(selector, (why) => refuse(`invalid "bound_service_account_namespace_selector" configured: ${why}`));
