/** The places of this service as a provider is told them. */
export const placesOf = (publicUrl: string) => ({
  /** Also its entity id. */
  metadata: `${publicUrl}/users/saml/metadata`,
  consumer: `${publicUrl}/users/saml/auth`,
});
