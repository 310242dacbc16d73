// The frame: the list, and the form of the product that is open.

import { useState } from "react";
import { ProductDialog } from "./product-dialog.tsx";
import { ProductList } from "./product-list.tsx";

export function App() {
  const [opened, setOpened] = useState<{ readonly id?: string }>();
  return (
    <main>
      <header>
        <h1>Products</h1>
        <button type="button" className="primary" onClick={() => setOpened({})}>
          New product
        </button>
      </header>
      <ProductList onOpen={(id) => setOpened({ id })} />
      {opened && <ProductDialog id={opened.id} onClose={() => setOpened(undefined)} />}
    </main>
  );
}
