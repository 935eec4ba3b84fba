/** The addresses of this service that a provider needs. */
export const placesOf = (publicUrl: string) => ({
  /** The metadata address, which is also the entity id of this service. */
  metadata: `${publicUrl}/users/saml/metadata`,
  consumer: `${publicUrl}/users/saml/auth`,
});
