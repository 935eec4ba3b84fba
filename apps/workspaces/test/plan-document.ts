/** The tool's JSON of a plan: a sensitive variable is passed to a module, whose resource outputs it unmarked. */
export const planDocument = {
  format_version: '1.2',
  terraform_version: '1.11.4',
  variables: { secret: { value: 'hush-default' }, size: { value: '4' } },
  planned_values: {
    outputs: {
      hidden: { sensitive: true, type: 'string', value: 'hush-default' },
      shown: { sensitive: false, type: 'string', value: '4' },
    },
    root_module: {
      resources: [
        {
          address: 'terraform_data.one["a.b"]',
          mode: 'managed',
          type: 'terraform_data',
          name: 'one',
          index: 'a.b',
          provider_name: 'terraform.io/builtin/terraform',
          schema_version: 0,
          values: {
            id: 'd4f8896e-75a2-1055-b4c9-7f04a396361d',
            input: { secret: 'hush-default', size: '4' },
            triggers_replace: null,
          },
          sensitive_values: { input: { secret: true }, output: {} },
        },
        {
          address: 'terraform_data.one["c"]',
          mode: 'managed',
          type: 'terraform_data',
          name: 'one',
          index: 'c',
          provider_name: 'terraform.io/builtin/terraform',
          schema_version: 0,
          values: {
            id: 'defff2cc-19f5-c830-3b1f-17d551df5981',
            input: { secret: 'hush-default', size: '4' },
            triggers_replace: null,
          },
          sensitive_values: { input: { secret: true }, output: {} },
        },
      ],
      child_modules: [
        {
          resources: [
            {
              address: 'module.inner[0].terraform_data.inside',
              mode: 'managed',
              type: 'terraform_data',
              name: 'inside',
              provider_name: 'terraform.io/builtin/terraform',
              schema_version: 0,
              values: {
                id: '6a21e178-78b6-5d2c-e45e-03976c245d5a',
                input: 'hush-default',
                output: 'hush-default',
                triggers_replace: null,
              },
              sensitive_values: { input: true },
            },
          ],
          address: 'module.inner[0]',
        },
      ],
    },
  },
  resource_changes: [
    {
      address: 'terraform_data.one["a.b"]',
      mode: 'managed',
      type: 'terraform_data',
      name: 'one',
      index: 'a.b',
      provider_name: 'terraform.io/builtin/terraform',
      change: {
        actions: ['update'],
        before: {
          id: 'd4f8896e-75a2-1055-b4c9-7f04a396361d',
          input: { secret: 'hush-default', size: 3 },
          output: { secret: 'hush-default', size: 3 },
          triggers_replace: null,
        },
        after: {
          id: 'd4f8896e-75a2-1055-b4c9-7f04a396361d',
          input: { secret: 'hush-default', size: '4' },
          triggers_replace: null,
        },
        after_unknown: { input: {}, output: true },
        before_sensitive: { input: { secret: true }, output: {} },
        after_sensitive: { input: { secret: true }, output: {} },
      },
    },
    {
      address: 'terraform_data.one["c"]',
      mode: 'managed',
      type: 'terraform_data',
      name: 'one',
      index: 'c',
      provider_name: 'terraform.io/builtin/terraform',
      change: {
        actions: ['update'],
        before: {
          id: 'defff2cc-19f5-c830-3b1f-17d551df5981',
          input: { secret: 'hush-default', size: 3 },
          output: { secret: 'hush-default', size: 3 },
          triggers_replace: null,
        },
        after: {
          id: 'defff2cc-19f5-c830-3b1f-17d551df5981',
          input: { secret: 'hush-default', size: '4' },
          triggers_replace: null,
        },
        after_unknown: { input: {}, output: true },
        before_sensitive: { input: { secret: true }, output: {} },
        after_sensitive: { input: { secret: true }, output: {} },
      },
    },
    {
      address: 'module.inner[0].terraform_data.inside',
      module_address: 'module.inner[0]',
      mode: 'managed',
      type: 'terraform_data',
      name: 'inside',
      provider_name: 'terraform.io/builtin/terraform',
      change: {
        actions: ['no-op'],
        before: {
          id: '6a21e178-78b6-5d2c-e45e-03976c245d5a',
          input: 'hush-default',
          output: 'hush-default',
          triggers_replace: null,
        },
        after: {
          id: '6a21e178-78b6-5d2c-e45e-03976c245d5a',
          input: 'hush-default',
          output: 'hush-default',
          triggers_replace: null,
        },
        after_unknown: {},
        before_sensitive: { input: true },
        after_sensitive: { input: true },
      },
    },
  ],
  output_changes: {
    hidden: {
      actions: ['no-op'],
      before: 'hush-default',
      after: 'hush-default',
      after_unknown: false,
      before_sensitive: true,
      after_sensitive: true,
    },
    shown: {
      actions: ['update'],
      before: 3,
      after: '4',
      after_unknown: false,
      before_sensitive: false,
      after_sensitive: false,
    },
  },
  prior_state: {
    format_version: '1.0',
    terraform_version: '1.11.4',
    values: {
      outputs: {
        hidden: { sensitive: true, value: 'hush-default', type: 'string' },
        shown: { sensitive: false, value: '4', type: 'string' },
      },
      root_module: {
        resources: [
          {
            address: 'terraform_data.one["a.b"]',
            mode: 'managed',
            type: 'terraform_data',
            name: 'one',
            index: 'a.b',
            provider_name: 'terraform.io/builtin/terraform',
            schema_version: 0,
            values: {
              id: 'd4f8896e-75a2-1055-b4c9-7f04a396361d',
              input: { secret: 'hush-default', size: 3 },
              output: { secret: 'hush-default', size: 3 },
              triggers_replace: null,
            },
            sensitive_values: { input: { secret: true }, output: {} },
          },
          {
            address: 'terraform_data.one["c"]',
            mode: 'managed',
            type: 'terraform_data',
            name: 'one',
            index: 'c',
            provider_name: 'terraform.io/builtin/terraform',
            schema_version: 0,
            values: {
              id: 'defff2cc-19f5-c830-3b1f-17d551df5981',
              input: { secret: 'hush-default', size: 3 },
              output: { secret: 'hush-default', size: 3 },
              triggers_replace: null,
            },
            sensitive_values: { input: { secret: true }, output: {} },
          },
        ],
        child_modules: [
          {
            resources: [
              {
                address: 'module.inner[0].terraform_data.inside',
                mode: 'managed',
                type: 'terraform_data',
                name: 'inside',
                provider_name: 'terraform.io/builtin/terraform',
                schema_version: 0,
                values: {
                  id: '6a21e178-78b6-5d2c-e45e-03976c245d5a',
                  input: 'hush-default',
                  output: 'hush-default',
                  triggers_replace: null,
                },
                sensitive_values: { input: true },
              },
            ],
            address: 'module.inner[0]',
          },
        ],
      },
    },
  },
  configuration: {
    provider_config: { terraform: { name: 'terraform', full_name: 'terraform.io/builtin/terraform' } },
    root_module: {
      outputs: {
        hidden: { sensitive: true, expression: { references: ['var.secret'] } },
        shown: { expression: { references: ['var.size'] } },
      },
      resources: [
        {
          address: 'terraform_data.one',
          mode: 'managed',
          type: 'terraform_data',
          name: 'one',
          provider_config_key: 'terraform',
          provisioners: [{ type: 'local-exec', expressions: { command: { references: ['var.size'] } } }],
          expressions: { input: { references: ['var.size', 'var.secret'] } },
          schema_version: 0,
        },
      ],
      module_calls: {
        inner: {
          source: './mod',
          expressions: { word: { references: ['var.secret'] } },
          count_expression: { constant_value: 1 },
          module: {
            outputs: {
              word: { expression: { references: ['terraform_data.inside.output', 'terraform_data.inside'] } },
            },
            resources: [
              {
                address: 'terraform_data.inside',
                mode: 'managed',
                type: 'terraform_data',
                name: 'inside',
                provider_config_key: 'terraform',
                expressions: { input: { references: ['var.word'] } },
                schema_version: 0,
              },
            ],
            variables: { word: { description: 'A word.' } },
          },
        },
      },
      variables: { secret: { default: 'hush-default', sensitive: true }, size: { default: 3 } },
    },
  },
  relevant_attributes: [{ resource: 'module.inner[0].terraform_data.inside', attribute: ['output'] }],
  applyable: true,
  complete: true,
  errored: false,
};
