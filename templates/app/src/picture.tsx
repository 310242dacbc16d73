// The photo of a product in one of the sizes of its definition, or the first letter of its name.

import type { Product } from "./collections.ts";
import { products } from "./shop.ts";

const sizes = { small: "width=128&height=128", large: "width=640&height=480" };

interface PictureProps {
  readonly product: Product;
  readonly size: keyof typeof sizes;
}

export function Picture({ product, size }: PictureProps) {
  const { name, photo } = product;
  if (!photo)
    return (
      <span className={`picture ${size}`} aria-hidden="true">
        {name.slice(0, 1)}
      </span>
    );
  const { url } = products.file(product, "photo");
  // A browser does not ask again for a picture that the page has shown. With its hash as a name, a new photo has a new URL.
  const src = `${url}?${sizes[size]}&download=${photo.sha256}`;
  return <img className={`picture ${size}`} src={src} alt="" />;
}
