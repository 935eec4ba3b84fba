import { ExactNumber, parseExact } from '@keystead/envelope';
import { z } from 'zod';

const record = <T extends z.ZodType>(of: T) => z.record(z.string(), of);

const Change = z.looseObject({
  actions: z.array(z.string()),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
  after_unknown: z.unknown().optional(),
  before_sensitive: z.unknown().optional(),
  after_sensitive: z.unknown().optional(),
});
const ResourceChange = z.looseObject({
  address: z.string(),
  module_address: z.string().optional(),
  mode: z.string(),
  type: z.string(),
  name: z.string(),
  index: z.union([z.number(), z.string(), z.instanceof(ExactNumber)]).optional(),
  provider_name: z.string(),
  deposed: z.string().optional(),
  change: Change,
});
const Resource = z.looseObject({
  address: z.string(),
  mode: z.string(),
  type: z.string(),
  name: z.string(),
  index: z.union([z.number(), z.string(), z.instanceof(ExactNumber)]).optional(),
  provider_name: z.string(),
  values: z.unknown().optional(),
  sensitive_values: z.unknown().optional(),
  depends_on: z.array(z.string()).optional(),
  tainted: z.boolean().optional(),
  deposed_key: z.string().optional(),
});
const Module = z.looseObject({
  address: z.string().optional(),
  resources: z.array(Resource).optional(),
  get child_modules(): z.ZodOptional<z.ZodArray<typeof Module>> {
    return z.array(Module).optional();
  },
});
const Output = z.looseObject({ sensitive: z.boolean().optional(), value: z.unknown().optional() });
const Values = z.looseObject({ outputs: record(Output).optional(), root_module: Module.optional() });

const Expressions = record(z.unknown());
const ConfiguredVariable = z.looseObject({
  default: z.unknown().optional(),
  description: z.string().optional(),
  sensitive: z.boolean().optional(),
});
const ConfiguredResource = z.looseObject({
  address: z.string(),
  mode: z.string(),
  type: z.string(),
  name: z.string(),
  provider_config_key: z.string().optional(),
  provisioners: z.array(z.looseObject({ type: z.string(), expressions: Expressions.optional() })).optional(),
  expressions: Expressions.optional(),
  count_expression: z.unknown().optional(),
  for_each_expression: z.unknown().optional(),
  depends_on: z.array(z.string()).optional(),
});
const ConfiguredModule = z.looseObject({
  outputs: record(
    z.looseObject({
      sensitive: z.boolean().optional(),
      expression: z.unknown().optional(),
      description: z.string().optional(),
      depends_on: z.array(z.string()).optional(),
    }),
  ).optional(),
  resources: z.array(ConfiguredResource).optional(),
  variables: record(ConfiguredVariable).optional(),
  get module_calls(): z.ZodOptional<z.ZodRecord<z.ZodString, typeof ModuleCall>> {
    return record(ModuleCall).optional();
  },
});
const ModuleCall = z.looseObject({
  source: z.string().optional(),
  expressions: Expressions.optional(),
  count_expression: z.unknown().optional(),
  for_each_expression: z.unknown().optional(),
  depends_on: z.array(z.string()).optional(),
  version_constraint: z.string().optional(),
  get module(): z.ZodOptional<typeof ConfiguredModule> {
    return ConfiguredModule.optional();
  },
});
const Configuration = z.looseObject({
  provider_config: record(
    z.looseObject({
      name: z.string().optional(),
      full_name: z.string().optional(),
      alias: z.string().optional(),
      module_address: z.string().optional(),
      version_constraint: z.string().optional(),
      expressions: Expressions.optional(),
    }),
  ).optional(),
  root_module: ConfiguredModule.optional(),
});

const Plan = z.looseObject({
  terraform_version: z.string().optional(),
  variables: record(z.looseObject({ value: z.unknown().optional() })).optional(),
  planned_values: Values.optional(),
  resource_changes: z.array(ResourceChange).optional(),
  resource_drift: z.array(ResourceChange).optional(),
  output_changes: record(Change).optional(),
  prior_state: z.looseObject({ terraform_version: z.string().optional(), values: Values.optional() }).optional(),
  configuration: Configuration.optional(),
});

export type PlanDocument = z.infer<typeof Plan>;
export type PlannedChange = z.infer<typeof ResourceChange>;
export type StateValues = z.infer<typeof Values>;
export type StateModule = z.infer<typeof Module>;
export type StateResource = z.infer<typeof Resource>;
export type ModuleConfiguration = z.infer<typeof ConfiguredModule>;
export type ResourceConfiguration = z.infer<typeof ConfiguredResource>;
export type PlanChange = z.infer<typeof Change>;

/** Reads the tool's JSON of a plan. Throws if the text is not a plan. */
export const readPlan = (text: string): PlanDocument => Plan.parse(parseExact(text));
