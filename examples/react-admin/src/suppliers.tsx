// Suppliers: only a name.

import LocalShipping from "@mui/icons-material/LocalShipping";
import { Create, DataTable, List, required, SimpleForm, TextInput } from "react-admin";
import { SafeEdit } from "./conflict.tsx";

const SupplierList = () => (
  <List>
    <DataTable>
      <DataTable.Col source="name" />
    </DataTable>
  </List>
);

const SupplierCreate = () => (
  <Create redirect="list">
    <SimpleForm>
      <TextInput source="name" validate={required()} />
    </SimpleForm>
  </Create>
);

const SupplierEdit = () => (
  <SafeEdit>
    <TextInput source="name" validate={required()} />
  </SafeEdit>
);

export const suppliers = {
  ...{ icon: LocalShipping, recordRepresentation: "name" },
  ...{ list: SupplierList, create: SupplierCreate, edit: SupplierEdit },
};
