# One of each resource that this service supports; later.tf adds those that need an upload or a group first.
terraform {
  required_providers {
    tfe = { source = "hashicorp/tfe" }
  }
}

variable "git" { type = string }     # a Git host
variable "receiver" { type = string } # answers every request with 200
variable "person" { type = string } # an account that is invited
variable "owner" { type = string }  # the account whose token is used
variable "gpg_key" { type = string }
variable "ssh_key" { type = string }
variable "certificate" { type = string }

resource "tfe_organization" "quay" {
  name  = "quay"
  email = "quay@example.com"
}
resource "tfe_organization" "kiln" {
  name            = "kiln"
  email           = "kiln@example.com"
  max_ttl_enabled = true
}
resource "tfe_organization_default_settings" "quay" {
  organization           = tfe_organization.quay.name
  default_execution_mode = "remote"
}
resource "tfe_admin_organization_settings" "quay" {
  organization                          = tfe_organization.quay.name
  workspace_limit                       = 50
  access_beta_tools                     = true
  global_module_sharing                 = false
  module_sharing_consumer_organizations = [tfe_organization.kiln.name]
}
resource "tfe_organization_module_sharing" "kiln" {
  organization     = tfe_organization.kiln.name
  module_consumers = [tfe_organization.quay.name]
}
resource "tfe_org_max_token_ttl_policy" "kiln" {
  organization              = tfe_organization.kiln.name
  org_token_max_ttl         = "2y"
  user_token_max_ttl        = "2y"
  team_token_max_ttl        = "3w"
  audit_trail_token_max_ttl = "6mo"
}
resource "tfe_organization_token" "quay" { organization = tfe_organization.quay.name }
resource "tfe_audit_trail_token" "quay" { organization = tfe_organization.quay.name }
resource "tfe_data_retention_policy" "quay" {
  organization = tfe_organization.quay.name
  delete_older_than { days = 400 }
}
resource "tfe_data_retention_policy" "cranes" {
  workspace_id = tfe_workspace.cranes.id
  dont_delete {}
}

# People
resource "tfe_organization_membership" "grace" {
  organization = tfe_organization.quay.name
  email        = "${var.person}@example.com"
}
resource "tfe_team" "drivers" {
  organization = tfe_organization.quay.name
  name         = "drivers"
}
resource "tfe_team" "welders" {
  organization = tfe_organization.quay.name
  name         = "welders"
}
resource "tfe_team" "porters" {
  organization = tfe_organization.quay.name
  name         = "porters"
}
resource "tfe_team" "watch" {
  organization = tfe_organization.quay.name
  name         = "watch"
}
resource "tfe_team_organization_member" "grace" {
  team_id                    = tfe_team.drivers.id
  organization_membership_id = tfe_organization_membership.grace.id
}
resource "tfe_team_organization_members" "welders" {
  team_id                     = tfe_team.welders.id
  organization_membership_ids = [tfe_organization_membership.grace.id]
}
resource "tfe_team_member" "grace" {
  team_id    = tfe_team.porters.id
  username   = var.owner
}
resource "tfe_team_members" "watch" {
  team_id    = tfe_team.watch.id
  usernames  = [var.owner]
}
resource "tfe_team_access" "drivers" {
  team_id      = tfe_team.drivers.id
  workspace_id = tfe_workspace.cranes.id
  access       = "plan"
}
resource "tfe_team_project_access" "welders" {
  team_id    = tfe_team.welders.id
  project_id = tfe_project.harbour.id
  access     = "maintain"
}
resource "tfe_team_token" "drivers" {
  team_id     = tfe_team.drivers.id
  description = "pipeline"
}
resource "tfe_team_notification_configuration" "drivers" {
  name             = "drivers"
  enabled          = true
  destination_type = "generic"
  triggers         = ["change_request:created"]
  url              = var.receiver
  team_id          = tfe_team.drivers.id
}

# Projects and workspaces
resource "tfe_project" "harbour" {
  organization = tfe_organization.quay.name
  name         = "Harbour"
  tags         = { site = "north" }
}
resource "tfe_project_settings" "harbour" {
  project_id             = tfe_project.harbour.id
  default_execution_mode = "remote"
}
resource "tfe_project_notification_configuration" "harbour" {
  name             = "harbour"
  enabled          = true
  destination_type = "generic"
  token            = "secret"
  triggers         = ["run:created", "run:errored"]
  url              = var.receiver
  project_id       = tfe_project.harbour.id
}
resource "tfe_workspace" "cranes" {
  organization = tfe_organization.quay.name
  project_id   = tfe_project.harbour.id
  name         = "cranes"
  description  = "Two cranes"
  tags         = { metal = "steel" }
  depends_on   = [tfe_project_settings.harbour]
}
resource "tfe_workspace" "followed" {
  organization        = tfe_organization.quay.name
  name                = "followed"
  queue_all_runs      = false
  speculative_enabled = true
  vcs_repo {
    identifier     = "team/net"
    branch         = "main"
    oauth_token_id = tfe_oauth_client.git.oauth_token_id
  }
}
resource "tfe_workspace_settings" "cranes" {
  workspace_id              = tfe_workspace.cranes.id
  execution_mode            = "remote"
  global_remote_state       = false
  remote_state_consumer_ids = [tfe_workspace.followed.id]
}
resource "tfe_run_trigger" "followed" {
  workspace_id  = tfe_workspace.followed.id
  sourceable_id = tfe_workspace.cranes.id
}
resource "tfe_notification_configuration" "cranes" {
  name             = "cranes"
  enabled          = true
  destination_type = "generic"
  triggers         = ["run:created", "run:errored"]
  url              = var.receiver
  workspace_id     = tfe_workspace.cranes.id
}

# Variables
resource "tfe_variable" "height" {
  workspace_id = tfe_workspace.cranes.id
  category     = "terraform"
  key          = "height"
  value        = "40"
}
resource "tfe_variable_set" "weather" {
  organization = tfe_organization.quay.name
  name         = "weather"
}
resource "tfe_variable" "wind" {
  variable_set_id = tfe_variable_set.weather.id
  category        = "env"
  key             = "WIND"
  value           = "12"
}
resource "tfe_workspace_variable_set" "weather" {
  workspace_id    = tfe_workspace.cranes.id
  variable_set_id = tfe_variable_set.weather.id
}
resource "tfe_project_variable_set" "weather" {
  project_id      = tfe_project.harbour.id
  variable_set_id = tfe_variable_set.weather.id
}

# Agents, keys and Git hosts
resource "tfe_agent_pool" "yard" {
  organization        = tfe_organization.quay.name
  name                = "yard"
  organization_scoped = false
}
resource "tfe_agent_pool_allowed_workspaces" "yard" {
  agent_pool_id         = tfe_agent_pool.yard.id
  allowed_workspace_ids = [tfe_workspace.cranes.id]
}
resource "tfe_agent_pool_allowed_projects" "yard" {
  agent_pool_id       = tfe_agent_pool.yard.id
  allowed_project_ids = [tfe_project.harbour.id]
}
resource "tfe_agent_pool_excluded_workspaces" "yard" {
  agent_pool_id          = tfe_agent_pool.yard.id
  excluded_workspace_ids = [tfe_workspace.followed.id]
}
resource "tfe_agent_token" "yard" {
  agent_pool_id = tfe_agent_pool.yard.id
  description   = "yard"
}
resource "tfe_ssh_key" "deploy" {
  organization = tfe_organization.quay.name
  name         = "deploy"
  key          = var.ssh_key
}
resource "tfe_oauth_client" "git" {
  organization        = tfe_organization.quay.name
  name                = "git"
  service_provider    = "github"
  http_url            = var.git
  api_url             = var.git
  oauth_token         = "text"
  organization_scoped = true
}
resource "tfe_oauth_client" "own" {
  organization        = tfe_organization.quay.name
  name                = "own"
  service_provider    = "github"
  http_url            = var.git
  api_url             = var.git
  oauth_token         = "text"
  organization_scoped = false
}
resource "tfe_project_oauth_client" "own" {
  project_id      = tfe_project.harbour.id
  oauth_client_id = tfe_oauth_client.own.id
}

# The registry
resource "tfe_registry_module" "berth" {
  organization    = tfe_organization.quay.name
  name            = "berth"
  module_provider = "crane"
  registry_name   = "private"
}
resource "tfe_registry_module" "public" {
  organization    = tfe_organization.quay.name
  namespace       = "terraform-aws-modules"
  name            = "vpc"
  module_provider = "aws"
  registry_name   = "public"
}
resource "tfe_registry_module" "followed" {
  organization    = tfe_organization.quay.name
  name            = "net"
  module_provider = "crane"
  vcs_repo {
    display_identifier = "team/net"
    identifier         = "team/net"
    oauth_token_id     = tfe_oauth_client.git.oauth_token_id
    branch             = "main"
    tags               = false
  }
  test_config { tests_enabled = true }
}
resource "tfe_test_variable" "height" {
  key             = "HEIGHT"
  value           = "40"
  category        = "env"
  organization    = tfe_organization.quay.name
  module_name     = tfe_registry_module.followed.name
  module_provider = tfe_registry_module.followed.module_provider
}
resource "tfe_registry_provider" "crane" {
  organization = tfe_organization.quay.name
  name         = "crane"
}
resource "tfe_registry_provider" "public" {
  organization  = tfe_organization.quay.name
  registry_name = "public"
  namespace     = "hashicorp"
  name          = "aws"
}
resource "tfe_registry_gpg_key" "quay" {
  organization = tfe_organization.quay.name
  ascii_armor  = var.gpg_key
}

# Policies and run tasks
resource "tfe_policy" "small" {
  organization = tfe_organization.quay.name
  name         = "small"
  kind         = "opa"
  query        = "data.small.deny"
  policy       = "package small"
  enforce_mode = "advisory"
}
resource "tfe_sentinel_policy" "stored" {
  organization = tfe_organization.quay.name
  name         = "stored"
  policy       = "main = rule { true }"
  enforce_mode = "advisory"
}
resource "tfe_policy_set" "chosen" {
  organization = tfe_organization.quay.name
  name         = "chosen"
  kind         = "opa"
  policy_ids   = [tfe_policy.small.id]
}
resource "tfe_policy_set" "global" {
  organization = tfe_organization.quay.name
  name         = "global"
  kind         = "opa"
  global       = true
  overridable  = true
}
resource "tfe_policy_set" "followed" {
  organization  = tfe_organization.quay.name
  name          = "followed"
  kind          = "opa"
  policies_path = "policies"
  vcs_repo {
    identifier     = "team/net"
    branch         = "main"
    oauth_token_id = tfe_oauth_client.git.oauth_token_id
  }
}
resource "tfe_policy_set_parameter" "height" {
  policy_set_id = tfe_policy_set.global.id
  key           = "height"
  value         = "40"
}
resource "tfe_workspace_policy_set" "chosen" {
  policy_set_id = tfe_policy_set.chosen.id
  workspace_id  = tfe_workspace.cranes.id
}
resource "tfe_project_policy_set" "chosen" {
  policy_set_id = tfe_policy_set.chosen.id
  project_id    = tfe_project.harbour.id
}
resource "tfe_tag_policy_set" "chosen" {
  policy_set_id = tfe_policy_set.chosen.id
  key           = "metal"
  value         = "steel"
}
resource "tfe_workspace_policy_set_exclusion" "global" {
  policy_set_id = tfe_policy_set.global.id
  workspace_id  = tfe_workspace.cranes.id
}
resource "tfe_project_policy_set_exclusion" "global" {
  policy_set_id = tfe_policy_set.global.id
  project_id    = tfe_project.harbour.id
}
resource "tfe_tag_policy_set_exclusion" "global" {
  policy_set_id = tfe_policy_set.global.id
  key           = "metal"
}
resource "tfe_organization_run_task" "check" {
  organization = tfe_organization.quay.name
  name         = "check"
  url          = var.receiver
  hmac_key     = "secret"
  description  = "Checks"
  enabled      = true
}
resource "tfe_organization_run_task_global_settings" "check" {
  task_id           = tfe_organization_run_task.check.id
  enabled           = true
  enforcement_level = "advisory"
  stages            = ["pre_plan", "post_plan"]
}
resource "tfe_workspace_run_task" "check" {
  workspace_id      = tfe_workspace.cranes.id
  task_id           = tfe_organization_run_task.check.id
  enforcement_level = "advisory"
  stages            = ["post_plan"]
}

# The installation
resource "tfe_terraform_version" "custom" {
  version = "1.11.4-custom"
  url     = "https://example.com/terraform.zip"
  sha     = "e75ac73deb69a6b3aa667cb0b8b731aee79e2904e75ac73deb69a6b3aa667cb0"
}
resource "tfe_opa_version" "custom" {
  version = "1.22.4-custom"
  url     = "https://example.com/opa"
  sha     = "e75ac73deb69a6b3aa667cb0b8b731aee79e2904e75ac73deb69a6b3aa667cb0"
}
resource "tfe_sentinel_version" "custom" {
  version = "0.24.0-custom"
  url     = "https://example.com/sentinel.zip"
  sha     = "e75ac73deb69a6b3aa667cb0b8b731aee79e2904e75ac73deb69a6b3aa667cb0"
}
resource "tfe_saml_settings" "this" {
  idp_cert         = var.certificate
  slo_endpoint_url = "https://idp.example.com/slo"
  sso_endpoint_url = "https://idp.example.com/sso"
}
resource "tfe_scim_settings" "this" { depends_on = [tfe_saml_settings.this] }
resource "tfe_scim_token" "this" {
  description = "directory"
  depends_on  = [tfe_scim_settings.this]
}

output "module" { value = tfe_registry_module.berth.id }
output "workspace" { value = tfe_workspace.cranes.id }
output "scim_token" {
  value     = tfe_scim_token.this.token
  sensitive = true
}
