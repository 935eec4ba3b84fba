"""Calls through a client that was generated from the OpenAPI document: its folder, the address and an administrator's token
come as arguments; any surprise ends it. What comes back is typed by the document, so a wrong document ends it as well."""

import base64
import hashlib
import importlib
import json
import pkgutil
import sys

folder, address, token = sys.argv[1:4]
sys.path.insert(0, folder)

import service_client  # noqa: E402
from service_client import AuthenticatedClient, models  # noqa: E402

# All generated code can be loaded, so no operation and no schema was generated with an error.
modules = [found.name for found in pkgutil.walk_packages(service_client.__path__, "service_client.")]
loaded = {name: importlib.import_module(name) for name in modules}
operations = {name.rsplit(".", 1)[1]: module for name, module in loaded.items() if hasattr(module, "sync_detailed")}
admin = AuthenticatedClient(base_url=address, token=token, raise_on_unexpected_status=True)


def call(name, *args, status=200, client=admin, **kwargs):
    """Calls an operation by its id; answers what the client made of the body."""
    answer = operations[name].sync_detailed(*args, client=client, **kwargs)
    assert answer.status_code == status, (name, answer.status_code, answer.content)
    return answer.parsed


def body(name, type_, attributes, relationships=None):
    """A request body by the name of its operation."""
    data = {"type": type_, "attributes": attributes}
    if relationships is not None:
        data["relationships"] = relationships
    return getattr(models, f"{name}Body").from_dict({"data": data})


def one(type_, id_):
    return {"data": {"type": type_, "id": id_}}


def items(page):
    """All of a page, each of the type that its name says."""
    return {item.id: item for item in page.data}


# An organization, its default project, another project, a team
made = call("organizations_create", status=201, body=body("OrganizationsCreate", "organizations", {"name": "orchard", "email": "o@example.com"}))
assert made.data.attributes.permissions.can_update is True
assert (made.data.id, made.data.attributes.email) == ("orchard", "o@example.com")
whole = call("organizations_read", "orchard", include="entitlement_set,default-project")
project = next(item for item in whole.included if isinstance(item, models.ProjectsResource))
assert whole.data.relationships.default_project.data.id == project.id
assert isinstance(whole.data.relationships.default_project.data, models.ProjectsReference)
assert any(isinstance(item, models.EntitlementSetsResource) and item.attributes.agents for item in whole.included)
orange = call("projects_create", "orchard", status=201, body=body("ProjectsCreate", "projects", {"name": "orange"})).data
assert orange.attributes.workspace_count == 0
team = call("teams_create", "orchard", status=201, body=body("TeamsCreate", "teams", {"name": "pickers"})).data
assert team.relationships.users.data == [] and team.relationships.organization.data.id == "orchard"

# A workspace in the project, changed, found by name and in a list
there = {"project": one("projects", orange.id)}
wish = body("WorkspacesCreate", "workspaces", {"name": "grove", "auto-apply": True, "infra-version": "1.11.4"}, there)
grove = call("workspaces_create", "orchard", status=201, body=wish).data
assert grove.attributes.auto_apply is True and grove.attributes.vcs_repo is None
assert grove.relationships.project.data.id == orange.id and grove.relationships.current_run.data is None
change = body("WorkspacesUpdate", "workspaces", {"description": "citrus"})
assert call("workspaces_update", grove.id, body=change).data.attributes.description == "citrus"
assert call("workspaces_read_by_name", "orchard", "grove").data.id == grove.id
page = call("workspaces_list", "orchard", pagesize=1, searchname="gro")
assert list(items(page)) == [grove.id] and page.meta.pagination.total_count == 1

# An invalid value is refused, and the error names its attribute
refused = call("workspaces_create", "orchard", status=422, body=body("WorkspacesCreate", "workspaces", {"name": "a b"}))
assert isinstance(refused, models.Errors)
assert refused.errors[0].source.pointer == "/data/attributes/name"
assert isinstance(call("workspaces_read", "ws-nothing", status=404), models.Errors)

# Variables; a sensitive one is not shown
attributes = {"key": "region", "value": "south", "category": "env", "sensitive": True}
variable = call("workspaces_vars_create", grove.id, status=201, body=body("WorkspacesVarsCreate", "vars", attributes)).data
assert variable.attributes.value is None and variable.relationships.configurable.data.id == grove.id
assert list(items(call("workspaces_vars_list", grove.id))) == [variable.id]

# A lock, a state with outputs, included resources, and a rollback
reason = models.WorkspacesLockBody.from_dict({"reason": "harvest"})
assert call("workspaces_lock", grove.id, body=reason).data.attributes.locked is True
state = {
    "version": 4,
    "terraform_version": "1.11.4",
    "serial": 1,
    "lineage": "orchard",
    "outputs": {"trees": {"value": [3, "x"], "type": ["tuple", ["number", "string"]]}},
    "resources": [],
}
raw = json.dumps(state).encode()
attributes = {"serial": 1, "lineage": "orchard", "md5": hashlib.md5(raw).hexdigest(), "state": base64.b64encode(raw).decode()}
wish = body("WorkspacesStateVersionsCreate", "state-versions", attributes)
version = call("workspaces_state_versions_create", grove.id, status=201, body=wish).data
assert (version.attributes.serial, version.attributes.status.value) == (1, "finalized")
current = call("workspaces_current_state_version_read", grove.id, include="outputs,created_by")
output = next(item for item in current.included if isinstance(item, models.StateVersionOutputsResource))
assert (output.attributes.name, output.attributes.value) == ("trees", [3, "x"])
assert [reference.id for reference in current.data.relationships.outputs.data] == [output.id]
creator = next(item for item in current.included if isinstance(item, models.UsersResource))
assert creator.id == current.data.relationships.created_by.data.id and creator.attributes.is_site_admin is True
assert call("workspaces_unlock", grove.id).data.attributes.locked is False

# A team's access, and the permissions that result
grant = body(
    "TeamWorkspacesCreate",
    "team-workspaces",
    {"access": "read"},
    {"team": one("teams", team.id), "workspace": one("workspaces", grove.id)},
)
granted = call("team_workspaces_create", status=201, body=grant).data
assert granted.attributes.access.value == "read" and granted.relationships.team.data.id == team.id

# Clean up
call("workspaces_delete", grove.id, status=204)
call("projects_delete", orange.id, status=204)
call("organizations_delete", "orchard", status=204)
print(f"generated client: {len(operations)} operations, done")
