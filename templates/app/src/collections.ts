// Types of the collections, as `restante types` writes them.

/** A resource of /products. */
export interface Product {
  readonly id: string;
  readonly name: string;
  readonly sku: string;
  readonly price: number;
  readonly stock?: number;
  readonly description?: string;
  readonly photo?: {
    readonly sha256?: string;
    readonly type?: "image/jpeg" | "image/png" | "image/webp";
    readonly size?: number;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What can be sent to /products. */
export interface ProductDraft {
  readonly name: string;
  readonly sku: string;
  readonly price: number;
  readonly stock?: number;
  readonly description?: string;
}

/** All collections, for `restante-client`. */
export interface Collections {
  readonly products: { readonly resource: Product; readonly draft: ProductDraft };
}
