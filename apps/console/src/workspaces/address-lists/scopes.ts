/** The scopes of address lists: who is limited to the addresses of the list. */
export const scopes = {
  organization: 'everyone but agents',
  all_agent_pools: 'all agents',
  selected_agent_pools: 'agents of some pools',
} as const;
/** A scope of an address list. */
export type ListScope = keyof typeof scopes;
/** All scopes. */
export const allScopes = Object.keys(scopes) as ListScope[];
