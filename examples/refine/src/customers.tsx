// Customers: a name and a country.

import { useDeleteMany, useTable } from "@refinedev/core";
import { Link } from "react-router";
import { Field, Form, useSafeForm } from "./form.tsx";
import { type Column, Table } from "./table.tsx";

interface Customer {
  readonly id: string;
  readonly name: string;
  readonly country?: string;
}

const columns: readonly Column<Customer>[] = [
  {
    field: "name",
    label: "Name",
    show: ({ id, name }) => <Link to={`/customers/${id}/edit`}>{name}</Link>,
  },
  { field: "country", label: "Country", show: ({ country }) => country },
];

export function CustomerList() {
  const table = useTable<Customer>({ resource: "customers" });
  const { mutate: remove } = useDeleteMany();
  return (
    <>
      <h1>Customers</h1>
      <p>
        <Link to="/customers/create">New customer</Link>
      </p>
      <Table
        table={table}
        columns={columns}
        actions={(ids, onSuccess) => (
          <button
            type="button"
            onClick={() => remove({ resource: "customers", ids }, { onSuccess })}
          >
            Delete
          </button>
        )}
      />
    </>
  );
}

export function CustomerForm({ action }: { readonly action: "create" | "edit" }) {
  const form = useSafeForm(action);
  return (
    <Form form={form} title={action === "create" ? "New customer" : "Customer"}>
      <Field form={form} name="name" label="Name" />
      <Field form={form} name="country" label="Country" />
    </Form>
  );
}
