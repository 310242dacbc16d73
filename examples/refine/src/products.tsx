// Products: a list with filters and bulk actions, a page with what refers to it, and a form with files.

import {
  useDeleteMany,
  useList,
  useMany,
  useSelect,
  useShow,
  useTable,
  useUpdateMany,
} from "@refinedev/core";
import { Link } from "react-router";
import type { FileMember } from "restante-client/refine";
import { Choice, Field, Form, useSafeForm } from "./form.tsx";
import { type Column, Table } from "./table.tsx";

interface ShownFile extends FileMember {
  readonly src: string;
}

interface Product {
  readonly id: string;
  readonly sku: string;
  readonly name: string;
  readonly price: number;
  readonly stock?: number;
  readonly supplier?: string;
  readonly photo?: ShownFile;
  readonly papers?: readonly ShownFile[];
}

interface Named {
  readonly id: string;
  readonly name: string;
}

const Photo = ({ file }: { readonly file: ShownFile | undefined }) =>
  file ? <img src={file.src} alt={file.name} /> : null;

export function ProductList() {
  const table = useTable<Product>({
    ...{ resource: "products", sorters: { initial: [{ field: "name", order: "asc" }] } },
  });
  const { result, setFilters } = table;
  const ids = [...new Set(result.data.flatMap(({ supplier }) => supplier ?? []))];
  const suppliers = useMany<Named>({
    resource: "suppliers",
    ids,
    queryOptions: { enabled: ids.length > 0 },
  });
  const nameOf = (id?: string) => suppliers.result.data.find((one) => one.id === id)?.name;
  const { options } = useSelect<Named>({ resource: "suppliers", optionLabel: "name" });
  const { mutate: remove } = useDeleteMany();
  const { mutate: update } = useUpdateMany();
  const filter = (field: string, operator: "contains" | "gte" | "eq", value: unknown) =>
    setFilters([{ field, operator, value: value === "" ? undefined : value }]);
  const columns: readonly Column<Product>[] = [
    { field: "photo", label: "Photo", show: ({ photo }) => <Photo file={photo} /> },
    {
      field: "name",
      label: "Name",
      show: ({ id, name }) => <Link to={`/products/${id}`}>{name}</Link>,
    },
    { field: "price", label: "Price", show: ({ price }) => price },
    { field: "stock", label: "Stock", show: ({ stock }) => stock },
    { field: "supplier", label: "Supplier", show: ({ supplier }) => nameOf(supplier) },
  ];
  return (
    <>
      <h1>Products</h1>
      <div className="bar">
        <label>
          Search{" "}
          <input type="search" onChange={({ target }) => filter("q", "contains", target.value)} />
        </label>
        <label>
          Name contains{" "}
          <input onChange={({ target }) => filter("name", "contains", target.value)} />
        </label>
        <label>
          Price from{" "}
          <input
            type="number"
            onChange={({ target }) => filter("price", "gte", target.value && Number(target.value))}
          />
        </label>
        <label>
          Supplier{" "}
          <select onChange={({ target }) => filter("supplier", "eq", target.value)}>
            <option value="" />
            {options.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <Link to="/products/create">New product</Link>
      </div>
      <Table
        table={table}
        columns={columns}
        actions={(ids, onSuccess) => (
          <>
            <button
              type="button"
              onClick={() =>
                update({ resource: "products", ids, values: { stock: 0 } }, { onSuccess })
              }
            >
              Sold out
            </button>
            <button
              type="button"
              onClick={() => remove({ resource: "products", ids }, { onSuccess })}
            >
              Delete
            </button>
          </>
        )}
      />
    </>
  );
}

export function ProductShow() {
  const { result: product } = useShow<Product>({ resource: "products" });
  const orders = useList<{ readonly id: string; readonly total: number }>({
    resource: "orders",
    filters: [{ field: "lines[].product", operator: "eq", value: product?.id }],
    queryOptions: { enabled: product !== undefined },
  });
  if (product === undefined) return <p>…</p>;
  return (
    <>
      <h1>{product.name}</h1>
      <Photo file={product.photo} />
      <p>
        {product.price}, {product.stock ?? "none"} left.{" "}
        <Link to={`/products/${product.id}/edit`}>Edit</Link>
      </p>
      <ul>
        {product.papers?.map(({ name, src }) => (
          <li key={src}>
            <a href={src}>{name}</a>
          </li>
        ))}
      </ul>
      <h2>Sold in</h2>
      <ul>
        {orders.result.data.map(({ id, total }) => (
          <li key={id}>
            <Link to={`/orders/${id}`}>an order of {total}</Link>
          </li>
        ))}
      </ul>
    </>
  );
}

export function ProductForm({ action }: { readonly action: "create" | "edit" }) {
  const form = useSafeForm(action);
  const { options } = useSelect<Named>({ resource: "suppliers", optionLabel: "name" });
  return (
    <Form form={form} title={action === "create" ? "New product" : "Product"}>
      <Field form={form} name="sku" label="Sku" />
      <Field form={form} name="name" label="Name" />
      <Field form={form} name="price" label="Price" type="number" />
      <Field form={form} name="stock" label="Stock" type="number" />
      <Choice form={form} name="supplier" label="Supplier" options={options} />
      <Field form={form} name="photo" label="Photo" type="file" />
      <Field form={form} name="papers" label="Papers" type="file" multiple />
    </Form>
  );
}
