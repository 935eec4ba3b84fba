import { document, type ParsedDocument } from '@keystead/jsonapi';
import { samlAttributes } from './attributes';

export const UpdateSaml = document('saml-settings', { untyped: true, attributes: samlAttributes.update });

/** What a request can set; fields left out keep their values. */
export type SamlInput = ParsedDocument<typeof UpdateSaml>;
