import { document, type ParsedDocument } from '@keystead/jsonapi';
import { samlAttributes } from './attributes';

export const UpdateSaml = document('saml-settings', { untyped: true, attributes: samlAttributes.update });

/** What a request may say of the settings; what is left out stays. */
export type SamlInput = ParsedDocument<typeof UpdateSaml>;
