# Resources that need a version of a module, an uploaded configuration, or a group of the directory.
variable "group" { type = string }

resource "tfe_no_code_module" "berth" {
  organization    = tfe_organization.quay.name
  registry_module = tfe_registry_module.berth.id
  version_pin     = "1.0.0"
  variable_options {
    name    = "height"
    type    = "string"
    options = ["40", "50"]
  }
}
resource "tfe_workspace_run" "cranes" {
  workspace_id = tfe_workspace.cranes.id
  apply {
    manual_confirm = true
    wait_for_run   = false
  }
}
resource "tfe_team" "directory" {
  organization = tfe_organization.quay.name
  name         = "directory"
}
resource "tfe_scim_group_mapping" "directory" {
  team_id       = tfe_team.directory.id
  scim_group_id = var.group
}
