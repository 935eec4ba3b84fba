import { document, type ParsedDocument } from '@keystead/jsonapi';
import { samlAttributes } from './attributes';

export const UpdateSaml = document('saml-settings', { untyped: true, attributes: samlAttributes.update });

/** The settings in a request; omitted settings keep their values. */
export type SamlInput = ParsedDocument<typeof UpdateSaml>;
