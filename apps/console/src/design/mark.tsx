const markPath =
  'M2 21V12A10 10 0 0 1 7.9 2.88L10.2 8A4.4 4.4 0 0 0 7.6 12V21ZM22 21V12A10 10 0 0 0 16.1 2.88L13.8 8A4.4 4.4 0 0 1 16.4 12V21Z';

/** The logo: the keystone of an arch. */
export function Mark({ size = 20 }: { readonly size?: number }) {
  return (
    <svg className="product-mark" aria-hidden="true" width={size} height={size} viewBox="0 0 24 24">
      <path d={markPath} />
      <path className="keystone" d="M9 1H15L13 9.4H11Z" />
    </svg>
  );
}

/** Names of the product and the service, above pages shown before sign-in. */
export function Product({ service }: { readonly service: string }) {
  return (
    <p className="product">
      <Mark size={28} />
      <span>
        Keystead <span className="second">{service}</span>
      </span>
    </p>
  );
}
