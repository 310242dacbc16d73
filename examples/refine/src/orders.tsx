// Orders: each refers to a customer, and each of its lines to a product.

import {
  useDeleteMany,
  useMany,
  useSelect,
  useShow,
  useTable,
  useUpdateMany,
} from "@refinedev/core";
import { useFieldArray } from "react-hook-form";
import { Link } from "react-router";
import { Choice, Field, Form, useSafeForm } from "./form.tsx";
import { type Column, Table } from "./table.tsx";

interface Order {
  readonly id: string;
  readonly customer: string;
  readonly status: string;
  readonly placed: string;
  readonly total: number;
  readonly lines: readonly { readonly product: string; readonly quantity: number }[];
  /** What it refers to, where `expand` asks for it. */
  readonly _expanded?: { readonly customer?: Named };
}

interface Named {
  readonly id: string;
  readonly name: string;
}

const columns: readonly Column<Order>[] = [
  {
    ...{ field: "placed", label: "Placed" },
    show: ({ id, placed }) => <Link to={`/orders/${id}`}>{placed.slice(0, 10)}</Link>,
  },
  { field: "customer.name", label: "Customer", show: ({ _expanded }) => _expanded?.customer?.name },
  { field: "status", label: "Status", show: ({ status }) => status },
  { field: "total", label: "Total", show: ({ total }) => total },
];

export function OrderList() {
  const table = useTable<Order>({ resource: "orders", meta: { expand: ["customer"] } });
  const { mutate: remove } = useDeleteMany();
  const { mutate: update } = useUpdateMany();
  const filter = (country: string) =>
    table.setFilters([{ field: "customer.country", operator: "eq", value: country || undefined }]);
  return (
    <>
      <h1>Orders</h1>
      <div className="bar">
        <label>
          Country <input onChange={({ target }) => filter(target.value)} />
        </label>
        <Link to="/orders/create">New order</Link>
      </div>
      <Table
        table={table}
        columns={columns}
        actions={(ids, onSuccess) => (
          <>
            <button
              type="button"
              onClick={() =>
                update({ resource: "orders", ids, values: { status: "sent" } }, { onSuccess })
              }
            >
              Sent
            </button>
            <button
              type="button"
              onClick={() => remove({ resource: "orders", ids }, { onSuccess })}
            >
              Delete
            </button>
          </>
        )}
      />
    </>
  );
}

export function OrderShow() {
  const { result: order } = useShow<Order>({ resource: "orders", meta: { expand: ["customer"] } });
  const ids = order?.lines.map(({ product }) => product) ?? [];
  const products = useMany<Named>({
    resource: "products",
    ids,
    queryOptions: { enabled: ids.length > 0 },
  });
  if (order === undefined) return <p>…</p>;
  const nameOf = (id: string) => products.result.data.find((one) => one.id === id)?.name;
  return (
    <>
      <h1>Order of {order._expanded?.customer?.name}</h1>
      <p>
        {order.placed}, {order.status}, {order.total}.{" "}
        <Link to={`/orders/${order.id}/edit`}>Edit</Link>
      </p>
      <ul>
        {order.lines.map(({ product, quantity }) => (
          <li key={product}>
            {quantity} × {nameOf(product)}
          </li>
        ))}
      </ul>
    </>
  );
}

const states = ["open", "paid", "sent"].map((value) => ({ label: value, value }));

export function OrderForm({ action }: { readonly action: "create" | "edit" }) {
  const form = useSafeForm(action);
  const lines = useFieldArray({ control: form.control, name: "lines" });
  const customers = useSelect<Named>({ resource: "customers", optionLabel: "name" });
  const products = useSelect<Named>({
    ...{ resource: "products", optionLabel: "name", pagination: { pageSize: 100 } },
    sorters: [{ field: "name", order: "asc" }],
  });
  return (
    <Form form={form} title={action === "create" ? "New order" : "Order"}>
      <Choice form={form} name="customer" label="Customer" options={customers.options} />
      <Choice form={form} name="status" label="Status" options={states} />
      <Field form={form} name="placed" label="Placed, such as 2026-03-01T10:00:00Z" />
      <Field form={form} name="total" label="Total" type="number" />
      {lines.fields.map(({ id }, at) => (
        <fieldset key={id}>
          <legend>Line {at + 1}</legend>
          <Choice
            form={form}
            name={`lines.${at}.product`}
            label="Product"
            options={products.options}
          />
          <Field form={form} name={`lines.${at}.quantity`} label="Quantity" type="number" />
          <button type="button" onClick={() => lines.remove(at)}>
            Remove
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => lines.append({ product: "", quantity: 1 })}>
        Add a line
      </button>
    </Form>
  );
}
