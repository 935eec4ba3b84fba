import { z } from 'zod';

const pairs = z.record(z.string(), z.string()).nullable();
const texts = z.array(z.string());

/** A listing by id, with details. */
export const listOutput = z.object({ keys: texts, key_info: z.record(z.string(), z.looseObject({})).optional() });

/** The answer to creating an alias. */
export const aliasResult = z.object({
  canonical_id: z.string().describe('ID of the entity or group.'),
  id: z.string().describe('ID of the alias.'),
});

/** The answer to creating an entity. */
export const entityResult = z.object({ aliases: z.null(), id: z.string(), name: z.string() });

/** The answer to creating a group. */
export const groupResult = z.object({ id: z.string(), name: z.string() });

const alias = {
  canonical_id: z.string(),
  creation_time: z.string(),
  custom_metadata: pairs,
  id: z.string(),
  last_update_time: z.string(),
  local: z.boolean(),
  merged_from_canonical_ids: texts.nullable(),
  metadata: pairs,
  mount_accessor: z.string(),
  mount_path: z.string(),
  mount_type: z.string(),
  name: z.string(),
};

/** An alias read by itself. Spec: Group alias. */
export const aliasOutput = z.object({ ...alias, namespace_id: z.string() });

/** An entity in reads and look-ups. */
export const entityOutput = z.object({
  aliases: z.array(z.object(alias)),
  creation_time: z.string(),
  direct_group_ids: texts,
  disabled: z.boolean(),
  group_ids: texts,
  id: z.string(),
  inherited_group_ids: texts,
  last_update_time: z.string(),
  merged_entity_ids: texts.nullable(),
  metadata: pairs,
  mfa_secrets: z.record(z.string(), z.object({ method_name: z.string(), type: z.string() })).optional(),
  name: z.string(),
  namespace_id: z.string(),
  policies: texts,
});

/** A group in reads and look-ups. */
export const groupOutput = z.object({
  alias: z.looseObject({}),
  creation_time: z.string(),
  id: z.string(),
  last_update_time: z.string(),
  member_entity_ids: texts.nullable(),
  member_group_ids: texts.nullable(),
  metadata: pairs,
  modify_index: z.int(),
  name: z.string(),
  namespace_id: z.string(),
  parent_group_ids: texts.nullable(),
  policies: texts,
  type: z.string(),
});

/** Spec: TOTP MFA method. */
export const methodOutput = z.object({
  algorithm: z.string(),
  digits: z.int(),
  accept_passkeys: z.boolean().optional(),
  enable_self_enrollment: z.boolean().optional(),
  id: z.string(),
  issuer: z.string(),
  key_size: z.int(),
  max_validation_attempts: z.int(),
  name: z.string(),
  namespace: z.string(),
  namespace_id: z.string(),
  namespace_path: z.string(),
  period: z.int(),
  qr_size: z.int(),
  recovery_codes: z.int().optional(),
  skew: z.int(),
  type: z.string(),
});

/** A login enforcement in reads. */
export const enforcementOutput = z.object({
  auth_method_accessors: texts,
  auth_method_types: texts,
  id: z.string(),
  identity_entity_ids: texts,
  identity_group_ids: texts,
  mfa_method_ids: texts,
  name: z.string(),
  namespace_id: z.string(),
  namespace_path: z.string(),
});
