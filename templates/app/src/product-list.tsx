// The list: search, sort order and pages.

import { useState } from "react";
import { type Listing, useList } from "restante-client/react";
import type { Collections, Product } from "./collections.ts";
import { Picture } from "./picture.tsx";
import { sentenceOf } from "./problem-text.tsx";
import { products } from "./shop.ts";

type Sort = NonNullable<Listing<Collections["products"]>["sort"]>;

const limit = 10;
const orders: readonly [name: string, sort: Sort][] = [
  ["Name", "name"],
  ["Newest", "-createdAt"],
  ["Cheapest", "price"],
  ["Most expensive", "-price"],
];
const money = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2 });

export function ProductList({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const [search, setSearch] = useState("");
  const [order, setOrder] = useState(0);
  const [page, setPage] = useState(1);
  const sort = orders[order]?.[1] ?? "name";
  const q = beginningsOf(search);
  const found = useList(products, {
    ...{ sort, page, limit },
    ...(q && { q }),
  });

  return (
    <>
      <search>
        <input
          type="search"
          placeholder="Search"
          aria-label="Search"
          value={search}
          onChange={({ target }) => {
            setSearch(target.value);
            setPage(1);
          }}
        />
        <select
          aria-label="Sort by"
          value={order}
          onChange={({ target }) => {
            setOrder(Number(target.value));
            setPage(1);
          }}
        >
          {orders.map(([name], at) => (
            <option key={name} value={at}>
              {name}
            </option>
          ))}
        </select>
      </search>
      {found.error && (
        <p role="alert">
          {sentenceOf(found.error)}{" "}
          <button type="button" onClick={() => found.refetch()}>
            Try again
          </button>
        </p>
      )}
      {found.isPending && <p className="empty">Loading…</p>}
      {found.data?.total === 0 && (
        <p className="empty">{q ? `Nothing has “${search.trim()}” in it.` : "No products yet."}</p>
      )}
      <ul className="products" aria-busy={found.isPlaceholderData}>
        {found.data?.data.map((product) => (
          <Row key={product.id} product={product} onOpen={() => onOpen(product.id)} />
        ))}
      </ul>
      {found.data && <Pages {...found.data} onTurn={setPage} />}
    </>
  );
}

/** The beginning of each word is enough: `cof sto` becomes `cof* sto*`. */
const beginningsOf = (search: string): string =>
  (search.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).map((word) => `${word}*`).join(" ");

function Row({ product, onOpen }: { readonly product: Product; readonly onOpen: () => void }) {
  const { name, sku, price, stock = 0 } = product;
  return (
    <li>
      <Picture product={product} size="small" />
      <button type="button" className="name" onClick={onOpen}>
        {name}
      </button>
      <span className="sku">{sku}</span>
      <span className="stock">{stock === 0 ? "sold out" : `${stock} in stock`}</span>
      <span className="price">{money.format(price)}</span>
    </li>
  );
}

interface PagesProps {
  readonly page: number;
  readonly pages: number | null;
  readonly total: number | null;
  readonly onTurn: (page: number) => void;
}

function Pages({ page, pages, total, onTurn }: PagesProps) {
  if (!total || !pages) return null;
  const first = (page - 1) * limit + 1;
  return (
    <nav aria-label="Pages">
      <button type="button" disabled={page <= 1} onClick={() => onTurn(page - 1)}>
        Previous
      </button>
      <span>
        {first}–{Math.min(page * limit, total)} of {total}
      </span>
      <button type="button" disabled={page >= pages} onClick={() => onTurn(page + 1)}>
        Next
      </button>
    </nav>
  );
}
