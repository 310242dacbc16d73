// The dialog of one product: it reads it, and shows its form.

import { useEffect, useRef } from "react";
import { useResource } from "restante-client/react";
import { sentenceOf } from "./problem-text.tsx";
import { ProductForm } from "./product-form.tsx";
import { products } from "./shop.ts";

interface ProductDialogProps {
  /** Undefined for a new product. */
  readonly id: string | undefined;
  readonly onClose: () => void;
}

export function ProductDialog({ id, onClose }: ProductDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const { data: product, error } = useResource(products, id);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="title">
      <h2 id="title">{id === undefined ? "New product" : (product?.name ?? "Product")}</h2>
      {error && !product && <p role="alert">{sentenceOf(error)}</p>}
      {(product || id === undefined) && (
        <ProductForm key={id} product={product} onClose={() => dialog.current?.close()} />
      )}
    </dialog>
  );
}
