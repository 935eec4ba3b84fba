/** The addresses of this service that a provider needs. */
export const placesOf = (publicUrl: string) => ({
  /** Also its entity id. */
  metadata: `${publicUrl}/users/saml/metadata`,
  consumer: `${publicUrl}/users/saml/auth`,
});
